// What the server says when something is wrong, or that it says nothing at all.

const SILENT = {
  message: "The server does not answer.",
  hint: "Check that `quoth serve` is running, then try again.",
};

export async function problemOf(response) {
  if (!response) return SILENT;
  const problem = await response.json().catch(() => null);
  return problem?.message ? problem : { message: `The server answered ${response.status}.`, hint: "" };
}

export async function getJson(path) {
  const response = await fetch(path).catch(() => null);
  if (!response?.ok) throw await problemOf(response);
  return response.json();
}
