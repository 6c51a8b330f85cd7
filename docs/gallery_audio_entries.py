"""What the audio gallery shows: the families, and for each transform its call, one line, and what it is called on."""

from __future__ import annotations

from gallery_entries import Entry

FAMILIES: list[tuple[str, str, list[Entry]]] = [
    (
        "Spectra",
        "Which frequencies there are, and when; and back to a wave.",
        [
            Entry("audio.Spectrogram(256, hop_length=64)", "The power of each frequency in each frame."),
            Entry(
                "audio.InverseSpectrogram(8000, 256, hop_length=64)",
                "A wave from a complex spectrogram.",
                "complex",
            ),
            Entry(
                "audio.MelSpectrogram(8000, 256, hop_length=64, n_mels=40)", "Frequencies as ears part them."
            ),
            Entry(
                "audio.MelScale(40, 8000, n_stft=129)",
                "A spectrogram's frequencies gathered into bands.",
                "spectrogram",
            ),
            Entry(
                "audio.InverseMelScale(129, 40, 8000, max_iter=200)",
                "Frequencies that could have given these bands.",
                "mel",
            ),
            Entry(
                "audio.GriffinLim(256, 16, hop_length=64)",
                "A wave whose spectrogram this could be.",
                "spectrogram",
                1,
            ),
            Entry("audio.MFCC(8000, 13)", "The shape of the spectrum in a few numbers."),
            Entry("audio.LFCC(8000, 40, 13)", "The same over bands of equal width."),
            Entry(
                "audio.SpectralCentroid(8000, 256, hop_length=64)", "Where the middle of the spectrum lies."
            ),
            Entry("audio.DetectPitchFrequency(8000)", "The pitch of each moment."),
        ],
    ),
    (
        "Levels",
        "Loudness, and other ways to write it down.",
        [
            Entry("audio.AmplitudeToDB()", "Powers as decibels.", "spectrogram"),
            Entry("audio.DBToAmplitude(1.0, 1.0)", "And back.", "decibel"),
            Entry("audio.ComplexNorm(2.0)", "The power of complex numbers.", "complex"),
            Entry("audio.Angle()", "The angle of complex numbers.", "complex"),
            Entry("audio.Magphase(1.0)", "Both: magnitude and angle.", "complex"),
            Entry("audio.SlidingWindowCmn(60, 10)", "Each band less its mean nearby.", "decibel"),
            Entry("audio.ComputeDeltas(7)", "How fast each band changes.", "decibel"),
            Entry("audio.Vol(0.3)", "Quieter."),
            Entry("audio.Gain(9.0)", "Louder, in decibels.", "low"),
            Entry("audio.DCShift(0.4, 0.05)", "Up by a constant."),
            Entry("audio.Contrast(90.0)", "Sounds louder without being so."),
            Entry("audio.Overdrive(30.0, 20.0)", "As through an amplifier that is too small.", "low"),
            Entry("audio.Dither()", "A little noise, so that rounding is not heard.", times=1),
            Entry("audio.MuLawEncoding(16)", "Sixteen steps, finer where it is quiet."),
            Entry("audio.MuLawDecoding(16)", "And back.", "codes"),
        ],
    ),
    (
        "Filters",
        "Some frequencies more, others less.",
        [
            Entry("audio.LowpassBiquad(8000, 500.0)", "What is low stays."),
            Entry("audio.HighpassBiquad(8000, 900.0)", "What is high stays."),
            Entry("audio.BandpassBiquad(8000, 660.0, 1.0)", "What is near stays."),
            Entry("audio.BandrejectBiquad(8000, 660.0, 1.0)", "What is near goes."),
            Entry("audio.BandBiquad(8000, 660.0, 1.0)", "A band, for pitched sounds or for noise."),
            Entry("audio.AllpassBiquad(8000, 660.0)", "All stay, each at another time."),
            Entry("audio.BassBiquad(8000, 12.0, 500.0)", "More of what is low.", "low"),
            Entry("audio.TrebleBiquad(8000, 12.0, 1500.0)", "More of what is high.", "low"),
            Entry("audio.EqualizerBiquad(8000, 660.0, 12.0, 1.0)", "More of what is near.", "low"),
            Entry("audio.DeemphBiquad(44100)", "As a CD player does.", "bright"),
            Entry("audio.RiaaBiquad(44100)", "As a record player does."),
            Entry("audio.Biquad(0.02, 0.04, 0.02, 1.0, -1.5, 0.6)", "By its coefficients."),
            Entry("audio.LFilter([1.0, -0.9], [0.1, 0.0])", "Of any order, by its coefficients."),
            Entry(
                "audio.Filtfilt([1.0, -0.9], [0.1, 0.0])", "Forwards and backwards, so that nothing moves."
            ),
        ],
    ),
    (
        "Effects",
        "As musicians like them.",
        [
            Entry("audio.Fade(2000, 3000)", "In at the beginning, out at the end."),
            Entry("audio.Flanger(8000, depth=8.0, regen=50.0)", "The sound and its late twin.", "channel"),
            Entry("audio.Phaser(8000)", "A notch that wanders."),
        ],
    ),
    (
        "Time and pitch",
        "Faster, slower, higher, or without the silence.",
        [
            Entry("audio.Resample(8000, 2000)", "Fewer samples a second."),
            Entry("audio.PitchShift(8000, 7, n_fft=256)", "Higher, and as long."),
            Entry("audio.TimeStretch(64, 129, 1.6)", "Faster, and as high.", "complex"),
            Entry(
                "audio.PhaseVocoder(0.6, np.linspace(0, np.pi * 64, 129, dtype=np.float32)[:, None])",
                "Slower, and as high.",
                "complex",
            ),
            Entry("audio.Vad(8000)", "From where somebody speaks.", "bright"),
        ],
    ),
    (
        "Masks",
        "Holes that a network learns to do without.",
        [
            Entry("audio.FrequencyMasking(freq_mask_param=14)", "A few bands.", "level"),
            Entry("audio.TimeMasking(time_mask_param=40)", "A few frames.", "level"),
            Entry("audio.MaskAlongAxis(30, 25, 0.0, 2)", "These frames.", "level"),
            Entry("audio.MaskAlongAxisIID(30, 0.0, 2)", "Other frames in each channel.", "batch"),
        ],
    ),
]
