/**
 * A page that does the least: it reads the model's own bytes and puts their text into a `<pre>`, once a frame, and shows
 * its end. In pieces it is the floor of any page; as one text it is what a page is that takes no care.
 */
export function floorPage(model: string, inPieces: boolean): string {
  return `<!doctype html>
<meta charset="utf-8">
<style>body { margin: 0; font: 14px/1.5 system-ui } pre { white-space: pre-wrap; margin: 0 auto; max-width: 760px }</style>
<body>
<script>
const pieceLength = ${inPieces ? 2000 : "Infinity"};
let text, waiting = "", isPlanned = false;
function add() {
  const pre = document.createElement("pre");
  text = pre.appendChild(document.createTextNode(""));
  document.body.append(pre);
}
function draw() {
  isPlanned = false;
  if (text === undefined || text.length > pieceLength) add();
  text.appendData(waiting);
  waiting = "";
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
      waiting += JSON.parse(frame.slice(6)).choices[0].delta.content ?? "";
    }
    if (!isPlanned) requestAnimationFrame(draw);
    isPlanned = true;
  }
}
</script>
`;
}
