// The search of pages that were opened from disk. Browsers allow no worker there, and the search
// of the theme runs in one: so the worker's script runs in an empty frame instead. The theme would
// fetch such a script from another host, and nothing here is fetched. Pages of a server have
// workers, and are left alone.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.appendChild(frame);
      const inside = frame.contentWindow;
      const tell = (target, data) =>
        setTimeout(() => target.dispatchEvent(new MessageEvent("message", { data })));
      inside.postMessage = (data) => tell(this, data);
      const script = inside.document.createElement("script");
      const ready = new Promise((done) => { script.onload = done; });
      this.postMessage = (data) => { ready.then(() => tell(inside, data)); };
      this.terminate = () => frame.remove();
      script.src = url;
      inside.document.body.appendChild(script);
    }
  };
}
