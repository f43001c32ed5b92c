// Warnings in the console, for the site's developers, about how the site is wired. A page writes
// each text once. Loaded with the first complaint.

import { isOurs } from "./asking.js";

const told = new Set();

function warn(text) {
  if (!told.has(text)) console.warn("presence: " + text);
  told.add(text);
}

let old = false; // presence:outdated was fired

/** Fires presence:outdated, once: the site has another build by now. The page is not reloaded, because the visitor may be writing. */
function outdated(page = "", server) {
  if (old) return;
  old = true;
  document.dispatchEvent(new CustomEvent("presence:outdated", { detail: { page, server } }));
}

/**
 * Explains what went wrong. Returns whether it is a refusal of the server itself.
 * @param {Response | {warnings?: string[]}} about an answer that refuses a request, or texts of the server
 * @param {{app?: string, texts?: object}} site the build and the texts of the page
 * @param {import("./link.js").Page} [page] the page, if a beat got another answer than 204. If the answer does not come from the
 *   handlers, such as a sign-in page or the refusal of a CSRF check, the page sends no more beats.
 */
export async function explain(about, site, page) {
  if (page) {
    if (/408|410|429|50[234]/.test(about.status)) return;
    page.nobeat = about.status || 302; // the browser hides the status of a redirect
  }
  const { warnings = [], url, type, status, app } = about;
  const ours = isOurs(about);
  if (ours && status === 426) {
    if (site.texts) site.texts.lost = site.texts.outdated; // a new try would not help: the server does not speak the page's version
    outdated(site.app, "");
  } else if (app && site.app && app !== site.app) outdated(site.app, app);
  for (const text of warnings) warn(text);
  if (/\/beat(\?|$)/.test(url)) {
    warn(`A beat of this page (POST ${new URL(url).pathname}) was answered with ${status ? "status " + status : "a redirect"}, so the page sends none for now. ` +
      "Its connection alone keeps the visitor online. Exempt the presence endpoints from CSRF checks, since they check the origin themselves, " +
      "and from redirects to a sign-in.");
  } else if (type === "opaqueredirect") {
    warn(`A request of this page (GET ${new URL(url).pathname}) was answered with a redirect, as by a login wall, so the page is not live. ` +
      "Let the presence endpoints pass the wall, or the middleware that adds slashes: guests learn nothing there that Authorize does not allow.");
  }
  if (ours) {
    const { detail } = await about.json().catch(() => "");
    if (detail) warn(detail);
  }
  return ours;
}
