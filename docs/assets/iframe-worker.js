// Search without a server: from file:// a browser starts no Worker, so a hidden frame plays its part.
if (location.protocol === "file:") {
  window.Worker = window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super()
      this.waiting = []
      this.frame = document.createElement("iframe")
      this.frame.style.display = "none"
      this.frame.worker = this
      const source = new URL(url, document.baseURI).href.replace(/"/g, "%22")
      this.frame.srcdoc =
        "<script>postMessage = data => frameElement.worker.hear(data)</script>" +
        `<script src="${source}"></script>`
      this.frame.addEventListener("load", () => {
        const waiting = this.waiting
        this.waiting = null
        waiting.forEach(data => this.postMessage(data))
      })
      document.body.appendChild(this.frame)
    }

    hear(data) {
      const event = new MessageEvent("message", { data })
      this.dispatchEvent(event)
      if (this.onmessage) this.onmessage(event)
    }

    postMessage(data) {
      if (this.waiting) this.waiting.push(data)
      else this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data }))
    }

    terminate() {
      this.frame.remove()
    }
  }
}
