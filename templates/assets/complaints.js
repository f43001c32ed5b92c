// What is wrong with how the site is wired, told to its developers in the console: each
// text once a page. Loaded with the first complaint.

const told = new Set();

function warn(text) {
  if (!told.has(text)) console.warn("presence: " + text);
  told.add(text);
}

/**
 * Explains what went wrong.
 * @param {Response | {warnings?: string[], refused?: string}} about an answer that refuses
 *   a request, texts of the server, or the topics that the visitor may not follow, with commas
 */
export async function explain(about) {
  const { warnings = [], refused = "", url, status } = about;
  for (const text of warnings) warn(text);
  const topics = refused.split(",");
  if (/\/beat(\?|$)/.test(url)) {
    warn(`A beat of this page (POST ${new URL(url).pathname}) was answered with ${status ? "status " + status : "a redirect"}, so the page sends no more. ` +
      "Its connection alone keeps the visitor online. Exempt the presence endpoints from CSRF checks, since they check the origin themselves, " +
      "and from redirects to a sign-in.");
  } else if (status === 403) topics.push(...new URL(url).searchParams.getAll("topic"));
  for (const topic of topics) {
    if (topic) warn(`The topic ${topic} is not live on this page, because its visitor may not follow it. handlers.Config.Authorize decides that; without it visitors may follow the site's topic alone.`);
  }
  if (/problem\+json/.test(about.headers?.get("Content-Type"))) {
    const { detail } = await about.json().catch(() => "");
    if (detail) warn(detail);
  }
}
