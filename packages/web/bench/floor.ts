/**
 * A minimal page: reads the model's stream directly, appends its text to a `<pre>` once per frame, and scrolls to the end.
 * In pieces of 2,000 characters it is the lower bound for any page; as one text node it is a naive implementation.
 */
export function renderFloorPage(model: string, inPieces: boolean): string {
  return `<!doctype html>
<meta charset="utf-8">
<style>body { margin: 0; font: 14px/1.5 system-ui } pre { white-space: pre-wrap; margin: 0 auto; max-width: 760px }</style>
<body>
<script>
const pieceLength = ${inPieces ? 2000 : "Infinity"};
let text, pending = "", isScheduled = false;
function addPiece() {
  const pre = document.createElement("pre");
  text = pre.appendChild(document.createTextNode(""));
  document.body.append(pre);
}
function render() {
  isScheduled = false;
  if (text === undefined || text.length > pieceLength) addPiece();
  text.appendData(pending);
  pending = "";
  document.scrollingElement.scrollTop = document.scrollingElement.scrollHeight;
}
async function run() {
  const body = JSON.stringify({ model: ${JSON.stringify(model)}, messages: [{ role: "user", content: "go" }], stream: true });
  const reply = await fetch("/v1/chat/completions", { method: "POST", body });
  const reader = reply.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let read = await reader.read(); !read.done; read = await reader.read()) {
    const frames = (rest + read.value).split("\\n\\n");
    rest = frames.pop();
    for (const frame of frames) {
      if (frame === "data: [DONE]") continue;
      pending += JSON.parse(frame.slice(6)).choices[0].delta.content ?? "";
    }
    if (!isScheduled) requestAnimationFrame(render);
    isScheduled = true;
  }
}
</script>
`;
}
