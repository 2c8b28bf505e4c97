// The widget: one line on any page of a book's site puts a button into its corner.
//
//   <script src="https://quoth.example.com/widget.js" data-book="my-docs" data-key="qp_…" defer></script>
//
// data-book      which book; may be left out when there is one      data-theme     light, dark or auto
// data-key       a public key bound to this site's origin           data-side      right or left
// data-title     what the panel is called                           data-selection off: selected text is not offered
//
// This file is small on purpose: everything else is loaded when a reader first wants it. What it shows lives in a shadow
// tree, so neither the site's styles nor its scripts' selectors reach it, and it adds one name: <quoth-widget>.

(() => {
  const script = document.currentScript;
  if (!script || customElements.get("quoth-widget")) return;
  const base = new URL(".", script.src);
  const options = { ...script.dataset };
  const STYLE = `
    :host { all: initial; color-scheme: light dark; }
    :host([data-theme=light]) { color-scheme: light; }
    :host([data-theme=dark]) { color-scheme: dark; }
    .launch { position: fixed; z-index: 2147483000; right: 1.25rem; bottom: 1.25rem; width: 3.4rem; height: 3.4rem; padding: 0;
      font: 700 3rem/1 Georgia, serif; color: light-dark(#fff, #10292a); background: light-dark(#0f5c63, #82c9c5);
      border: 0; border-radius: 50%; box-shadow: 0 6px 20px rgb(0 0 0 / 25%); cursor: pointer; }
    .launch span { display: block; height: 2.1rem; overflow: visible; }
    .launch:focus-visible { outline: 3px solid light-dark(#0f5c63, #82c9c5); outline-offset: 3px; }
    :host([data-side=left]) .launch { right: auto; left: 1.25rem; }
    @media print { .launch { display: none; } }`;

  const wasOpen = () => {
    try {
      return sessionStorage.getItem("quoth.open");
    } catch {
      return null; // the browser forbids it
    }
  };

  class Widget extends HTMLElement {
    connectedCallback() {
      if (this.shadowRoot) return;
      this.dataset.theme = options.theme ?? "auto";
      this.dataset.side = options.side ?? "right";
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet(); // allowed under any content security policy, a <style> is not
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
      this.button = document.createElement("button");
      this.button.type = "button";
      this.button.className = "launch";
      this.button.ariaLabel = options.title ?? "Ask the book";
      this.button.ariaExpanded = "false";
      const mark = document.createElement("span");
      mark.ariaHidden = "true";
      mark.textContent = "“";
      this.button.append(mark);
      this.button.addEventListener("click", () => this.toggle());
      root.append(this.button);
      if (wasOpen()) this.open();
      if (options.selection !== "off") document.addEventListener("selectionchange", () => this.corner(), { once: true });
    }

    corner() {
      this.loading ??= import(new URL("assets/corner.js", base)).then(({ Corner }) => Corner.in(this, base, options));
      return this.loading;
    }

    async open(question) {
      const corner = await this.corner();
      await corner.open();
      if (question) await corner.talk.ask(question);
    }

    async close() {
      (await this.corner()).close();
    }

    async toggle() {
      (await this.corner()).toggle();
    }
  }

  customElements.define("quoth-widget", Widget);
  const put = () => document.body.append(document.createElement("quoth-widget"));
  if (document.body) put();
  else document.addEventListener("DOMContentLoaded", put);
})();
