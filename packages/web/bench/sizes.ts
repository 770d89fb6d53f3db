import { get } from "node:http";
import { createChat, Tab, type BenchFixture } from "./bench-fixture.ts";

/** Transferred bytes by type. */
interface TransferSizes {
  script: Size;
  style: Size;
  /** Compressed by their format. */
  fonts: number;
  files: number;
}

interface Size {
  brotli: number;
  gzip: number;
}

export interface LoadStep extends TransferSizes {
  step: string;
}

/** Measures which assets each step loads in addition to the previous ones. */
export async function measureLoadSteps(fixture: BenchFixture): Promise<LoadStep[]> {
  const tab = await Tab.open(fixture, "about:blank", 1);
  const requested: string[] = [];
  tab.page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (pathname.startsWith("/assets/")) requested.push(pathname);
  });
  const loadSteps: LoadStep[] = [];
  for (const [step, hash] of await createSteps(fixture)) {
    await tab.page.goto(`${fixture.url}/${hash}`);
    // A timeout is used because the network never becomes idle: the event stream of the page does not end.
    await tab.page.waitForTimeout(1500);
    loadSteps.push({ step, ...(await measureTransferSizes(fixture, requested.splice(0))) });
  }
  await tab.close();
  return loadSteps;
}

async function createSteps(fixture: BenchFixture): Promise<[step: string, hash: string][]> {
  const createChatWith = async (content: string) => {
    const messages = [
      { role: "user", content: "Please." },
      ...(content === "" ? [] : [{ role: "assistant", content }]),
    ];
    const { data } = await fixture.client.importFile({ messages });
    return `#/chats/${data[0]?.chat_id ?? ""}`;
  };
  const markdownChat = await createChatWith("Some *words*.");
  return [
    ["start page", ""],
    [
      "chat without an answer",
      `#/chats/${await createChat(fixture, { kind: "prose", kilobytes: 1, ms: 100 })}`,
    ],
    ["answer with Markdown", markdownChat],
    ["TypeScript code", await createChatWith("```ts\nconst one = 1;\n```")],
    ["Python code", await createChatWith("```python\none = 1\n```")],
    ["formula", await createChatWith("$$\\int_0^1 x^2\\,dx = \\frac{1}{3}$$")],
    ["tree view", `${markdownChat}/tree`],
    ["upstreams", "#/upstreams"],
  ];
}

async function measureTransferSizes(
  fixture: BenchFixture,
  paths: readonly string[],
): Promise<TransferSizes> {
  const sum = async (extension: string, encoding: string) => {
    let bytes = 0;
    for (const path of paths.filter((candidate) => candidate.endsWith(extension)))
      bytes += await fetchTransferSize(`${fixture.url}${path}`, encoding);
    return bytes;
  };
  const measure = async (extension: string): Promise<Size> => ({
    brotli: await sum(extension, "br"),
    gzip: await sum(extension, "gzip"),
  });
  return {
    script: await measure(".js"),
    style: await measure(".css"),
    fonts: await sum(".woff2", "identity"),
    files: paths.length,
  };
}

/** Returns the size of the encoded body. Not `fetch`, which decodes it. */
function fetchTransferSize(url: string, encoding: string): Promise<number> {
  return new Promise((resolve, reject) => {
    get(url, { headers: { "accept-encoding": encoding } }, (response) => {
      let bytes = 0;
      response.on("data", (chunk: Buffer) => (bytes += chunk.length));
      response.on("end", () => resolve(bytes));
      response.on("error", reject);
    }).on("error", reject);
  });
}
