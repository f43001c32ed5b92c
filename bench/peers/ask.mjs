// getJSON asks a node as a site does.
export async function getJSON(url, options) {
  const answer = await fetch(url, { signal: AbortSignal.timeout(10000), ...options });
  if (!answer.ok) throw new Error(`${url}: ${answer.status}`);
  return answer.json();
}
