// Server-sent events over fetch: EventSource cannot POST. Yields {name, data} as the frames arrive.

/** @typedef {{name: string, data: any}} Frame */

/** @param {Response} response @returns {AsyncGenerator<Frame>} */
export async function* events(response) {
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let ended = false;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) {
        ended = true;
        return;
      }
      const frames = (rest + value).split("\n\n");
      rest = frames.pop() ?? "";
      for (const frame of frames) {
        const event = parse(frame);
        if (event) yield event;
      }
    }
  } finally {
    if (!ended) reader.cancel().catch(() => {}); // the server stops when its reader leaves
  }
}

/** @param {string} frame @returns {Frame | null} */
function parse(frame) {
  let name = "message";
  const data = [];
  for (const line of frame.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null; // a comment is a heartbeat
}
