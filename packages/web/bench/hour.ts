import { newChat, Tab, type Scene } from "./scene.ts";

/** What the page holds while it shows nothing but its start, after everything that can be collected was. */
export interface Held {
  /** Of the simulated hour, in minutes. */
  minute: number;
  heapBytes: number;
  nodes: number;
  listeners: number;
  documents: number;
}

/** As many words as come in an hour at 20 a second, in a minute. */
const answers = 24;
const deltasEach = 3000;
const speech = { kind: "talk", kilobytes: (deltasEach * 5) / 1000, ms: 1500 } as const;

/** The first half in one chat, the second half in three in turn. */
export async function holdForAnHour(scene: Scene): Promise<Held[]> {
  const chats = [
    await newChat(scene, speech),
    await newChat(scene, speech),
    await newChat(scene, speech),
  ];
  const tab = await Tab.open(scene, scene.url, 1);
  await tab.ready();
  const { chat: empty } = await scene.client.create();
  const look = (minute: number) => heldBy(tab, minute, `#/chats/${empty.chat_id}`);
  // What is loaded and compiled once is no growth.
  for (const chatId of [...chats, ...chats]) await oneAnswer(scene, tab, chatId);
  const all = [await look(0)];
  for (let nth = 1; nth <= answers; nth += 1) {
    const chatId = chats[nth <= answers / 2 ? 0 : nth % chats.length] ?? "";
    await oneAnswer(scene, tab, chatId);
    if (nth % (answers / 2) === 0) all.push(await look((nth / answers) * 60));
  }
  await tab.close();
  return all;
}

async function oneAnswer(scene: Scene, tab: Tab, chatId: string): Promise<void> {
  await tab.go(`#/chats/${chatId}`);
  const ended = scene.replyEnded();
  await tab.say("Go on.");
  await ended;
  await tab.written();
}

async function heldBy(tab: Tab, minute: number, emptyChat: string): Promise<Held> {
  const { cdp, page } = tab;
  // React keeps of everything what it was before: that is the empty chat then.
  for (const hash of [emptyChat, "#/", emptyChat, "#/"]) await tab.go(hash);
  // A chat that was left is kept for ten seconds, for those who come back.
  await page.waitForTimeout(11_000);
  for (let pass = 0; pass < 3; pass += 1) await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const counted = await cdp.send("Memory.getDOMCounters");
  const { nodes, jsEventListeners: listeners, documents } = counted;
  return { minute, heapBytes: usedSize, nodes, listeners, documents };
}
