// The widget: one line on any page of a book's site puts a button into its corner.
//
//   <script src="https://quoth.example.com/widget.js" data-book="my-docs" data-key="qp_…" defer></script>
//
// docs/widget.md lists the attributes. This file is small on purpose: everything else is loaded when a reader first wants
// it. It lives in a shadow tree that takes nothing from the site, and adds one name: <quoth-widget>.

(() => {
  const script = /** @type {HTMLScriptElement | null} */ (document.currentScript);
  if (!script || customElements.get("quoth-widget")) return;
  const base = new URL(".", script.src);
  const assets = new URL("assets/", base);
  const options = { ...script.dataset };
  const shortcut = (options.shortcut ?? "k").toLowerCase();

  // `important`: these win over the site's rules for this element, even `*`.
  const STYLE = `
    :host { all: initial !important; color-scheme: light !important; }
    :host([data-scheme=dark]) { color-scheme: dark !important; }
    .launch { position: fixed; z-index: 2147483000; right: 20px; bottom: 20px; display: grid; place-items: center; box-sizing: border-box;
      min-width: 54px; height: 54px; padding: 0; color: light-dark(#fff, #10292a); background: light-dark(#0f5c63, #82c9c5);
      border: 0; border-radius: 27px; box-shadow: 0 6px 20px rgb(0 0 0 / 25%); cursor: pointer; font: 600 1em/1.2 system-ui, sans-serif; }
    .launch .sign { height: 33px; font: 700 48px/1 Georgia, serif; }
    .launch.back { padding: 0 20px; }
    .launch.back .sign, .launch:not(.back) .label { display: none; }
    .launch:focus-visible { outline: 3px solid light-dark(#0f5c63, #82c9c5); outline-offset: 3px; }
    :host([data-side=left]) .launch { right: auto; left: 20px; }
    @media print { .launch { display: none; } }`;

  // --- is the site dark? ------------------------------------------------------------------------------------------------

  // 0 to 1; null for a transparent colour. Browsers write colours in these forms.
  /** @param {string} colour */
  const lightness = (colour) => {
    const [a = 0, b = 0, c = 0, alpha = 1] = (colour.replace(/^color\(\S+/, "").match(/-?[\d.]+(?:e-?\d+)?/g) ?? []).map(Number);
    if (alpha < 0.5) return null;
    if (/^(ok)?l(ab|ch)/.test(colour)) return colour.startsWith("ok") ? a : a / 100;
    return (0.299 * a + 0.587 * b + 0.114 * c) / (colour.startsWith("rgb") ? 255 : 1);
  };

  // The colour of an element, or its colour once its transition is over.
  /** @param {Element} node @param {"color" | "backgroundColor"} property */
  const shade = (node, property) => {
    const name = property === "color" ? "color" : "background-color";
    const moving = node.getAnimations().find((one) => one instanceof CSSTransition && one.transitionProperty === name);
    const end = /** @type {KeyframeEffect | undefined} */ (moving?.effect)?.getKeyframes().at(-1)?.[property];
    return lightness(String(end ?? getComputedStyle(node)[property]));
  };

  const isDark = () => {
    if (options.theme === "light" || options.theme === "dark") return options.theme === "dark";
    const ground = shade(document.body, "backgroundColor") ?? shade(document.documentElement, "backgroundColor");
    return ground === null ? (shade(document.body, "color") ?? 0) > 0.5 : ground < 0.5; // light text needs a dark ground
  };

  /** @param {string} tag @param {string} name */
  const part = (tag, name) => Object.assign(document.createElement(tag), { className: name });

  class Widget extends HTMLElement {
    button = /** @type {HTMLButtonElement} */ (part("button", "launch"));
    label = part("span", "label");
    /** @type {Promise<import("./corner.js").Corner> | null} */
    loading = null;
    /** @type {typeof import("./texts/index.js").say} */
    say = () => options.title ?? "Quoth"; // until the texts are loaded

    connectedCallback() {
      if (this.shadowRoot) return;
      this.dataset.side = options.side ?? "right";
      const root = this.attachShadow({ mode: "open" });
      const sheet = new CSSStyleSheet(); // allowed under any content security policy, a <style> is not
      sheet.replaceSync(STYLE);
      root.adoptedStyleSheets = [sheet];
      Object.assign(this.button, { type: "button", ariaExpanded: "false" });
      this.button.append(Object.assign(part("span", "sign"), { textContent: "“", ariaHidden: "true" }), this.label);
      this.back(false);
      this.button.addEventListener("click", () => this.toggle());
      root.append(this.button);
      this.followScheme();
      this.listen();
      this.start();
    }

    followScheme() {
      const look = () => (this.dataset.scheme = isDark() ? "dark" : "light");
      const watch = new MutationObserver(look);
      for (const node of [document.documentElement, document.body]) watch.observe(node, { attributes: true });
      matchMedia("(prefers-color-scheme: dark)").addEventListener("change", look);
      addEventListener("load", look, { once: true }); // style sheets may come late
      look();
    }

    // The button gets its name, and a panel that was open on the last page opens again. The focus stays where it is.
    async start() {
      const [{ say, speak }, { tab }] = await Promise.all([this.load("texts/index.js"), this.load("storage.js")]);
      const { lang, dir } = await speak([options.lang, document.documentElement.lang, ...navigator.languages]);
      Object.assign(this.button, { lang, dir });
      this.say = say;
      this.back(Boolean(tab.get("quoth.back")));
      const lit = tab.get("quoth.lit"); // the citation that led to this page
      tab.remove("quoth.lit");
      if (lit) (await this.load("passages.js")).showPassage(lit);
      if (tab.get("quoth.open")) await (await this.corner()).open({ focus: false });
    }

    // `on`: the reader followed a citation on a small screen, and the button leads back to the answer.
    /** @param {boolean} on */
    back(on) {
      const keys = /Mac|iPhone|iPad/.test(navigator.platform) ? `⌘${shortcut.toUpperCase()}` : `Ctrl ${shortcut.toUpperCase()}`;
      const name = on ? this.say("backToAnswer") : options.title ?? this.say("askTheBook");
      this.button.classList.toggle("back", on);
      this.button.ariaLabel = this.label.textContent = name;
      this.button.title = shortcut === "off" ? name : `${name} (${keys})`;
    }

    // A selection or code is offered only when the reader shows interest in it: then the rest is loaded.
    listen() {
      if (options.selection !== "off") document.addEventListener("selectionchange", () => this.corner(), { once: true });
      const code = (/** @type {Event} */ event) => {
        if (!(event.target instanceof Element && event.target.closest("pre"))) return;
        for (const name of ["pointerover", "focusin"]) document.removeEventListener(name, code);
        this.corner();
      };
      if (options.code !== "off") for (const name of ["pointerover", "focusin"]) document.addEventListener(name, code);
      if (shortcut === "off") return;
      const pressed = (/** @type {KeyboardEvent} */ event) => {
        if (event.defaultPrevented) return; // the site's own search uses the same key
        event.preventDefault();
        this.toggle();
      };
      // Added anew each time, so that it runs after every listener of the site.
      addEventListener("keydown", (event) => {
        removeEventListener("keydown", pressed);
        const ours = (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey && event.key.toLowerCase() === shortcut;
        if (ours) addEventListener("keydown", pressed);
      }, true);
    }

    /** @param {string} file */
    load(file) {
      return import(new URL(file, assets).href);
    }

    /** @returns {Promise<import("./corner.js").Corner>} */
    corner() {
      this.loading ??= this.load("corner.js").then(({ Corner }) => Corner.in(this, base, options));
      this.loading.catch(() => (this.loading = null)); // offline: the next click tries again
      return this.loading;
    }

    /** @param {string} [question] */
    async open(question) {
      const corner = await this.corner();
      await corner.open();
      if (question) await corner.talk.ask(question);
    }

    async close() {
      (await this.corner()).close();
    }

    async toggle() {
      await (await this.corner()).toggle();
    }
  }

  customElements.define("quoth-widget", Widget);
  const put = () => document.body.append(document.createElement("quoth-widget"));
  if (document.body) put();
  else document.addEventListener("DOMContentLoaded", put);
})();
