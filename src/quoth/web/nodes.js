// Small builders of DOM nodes. Text goes in as text, never as HTML.

export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name === "className" ? "class" : name, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

// Only addresses that lead somewhere from here: what is relative to a page of the book is shown as its words.
export function link(href, label) {
  if (!/^https?:\/\//i.test(href)) return element("span", {}, label);
  const here = new URL(href).origin === location.origin; // the widget stands on the book's own site
  return element("a", here ? { href } : { href, target: "_blank", rel: "noopener noreferrer" }, label);
}

export function crumbs(trail) {
  const shown = trail.filter((name, at) => name !== trail[at - 1]);
  return shown.flatMap((name, at) => [
    at ? element("span", { className: "sep", "aria-hidden": "true" }, " › ") : "",
    element("span", { className: at === shown.length - 1 ? "here" : null }, name),
  ]);
}
