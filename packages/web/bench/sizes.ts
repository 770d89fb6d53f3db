import { get } from "node:http";
import { newChat, Tab, type Scene } from "./scene.ts";

/** Bytes as they are sent. */
interface Sent {
  script: Size;
  style: Size;
  /** Fonts are compressed already. */
  fonts: number;
  files: number;
}

interface Size {
  brotli: number;
  gzip: number;
}

export interface Loaded extends Sent {
  step: string;
}

/** What the page asks for, step by step; what was there before is not asked for again. */
export async function loadedInSteps(scene: Scene): Promise<Loaded[]> {
  const tab = await Tab.open(scene, "about:blank", 1);
  const asked: string[] = [];
  tab.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/assets/")) asked.push(pathname);
  });
  const all: Loaded[] = [];
  for (const [step, hash] of await steps(scene)) {
    await tab.page.goto(`${scene.url}/${hash}`);
    // What is loaded early would be loaded by now. The page's own stream never ends, so nothing else tells.
    await tab.page.waitForTimeout(1500);
    all.push({ step, ...(await sentOf(scene, asked.splice(0))) });
  }
  await tab.close();
  return all;
}

async function steps(scene: Scene): Promise<[step: string, hash: string][]> {
  const chat = async (content: string) => {
    const messages = [
      { role: "user", content: "Please." },
      ...(content === "" ? [] : [{ role: "assistant", content }]),
    ];
    const { data } = await scene.client.importFrom({ messages });
    return `#/chats/${data[0]?.chat_id ?? ""}`;
  };
  const words = await chat("Some *words*.");
  return [
    ["the start", ""],
    [
      "a chat without an answer",
      `#/chats/${await newChat(scene, { kind: "talk", kilobytes: 1, ms: 100 })}`,
    ],
    ["an answer: Markdown", words],
    ["code: TypeScript", await chat("```ts\nconst one = 1;\n```")],
    ["code: Python as well", await chat("```python\none = 1\n```")],
    ["mathematics", await chat("$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$")],
    ["the tree", `${words}/tree`],
    ["the upstreams", "#/upstreams"],
  ];
}

async function sentOf(scene: Scene, paths: readonly string[]): Promise<Sent> {
  const sum = async (ending: string, encoding: string) => {
    let bytes = 0;
    for (const path of paths.filter((one) => one.endsWith(ending)))
      bytes += await sentBytes(`${scene.url}${path}`, encoding);
    return bytes;
  };
  const both = async (ending: string): Promise<Size> => ({
    brotli: await sum(ending, "br"),
    gzip: await sum(ending, "gzip"),
  });
  return {
    script: await both(".js"),
    style: await both(".css"),
    fonts: await sum(".woff2", "identity"),
    files: paths.length,
  };
}

/** As they come over the wire: `fetch` would unpack them. */
function sentBytes(url: string, encoding: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": encoding } }, (response) => {
      let bytes = 0;
      response.on("data", (part: Buffer) => (bytes += part.length));
      response.on("end", () => resolve(bytes));
      response.on("error", reject);
    }).on("error", reject);
  });
}
