import { createChat, Tab, type BenchFixture } from "./bench-fixture.ts";

/** Memory of the page while it shows the start view, after garbage collection. */
export interface MemorySample {
  /** Minute of the simulated hour. */
  minute: number;
  heapBytes: number;
  nodes: number;
  listeners: number;
  documents: number;
}

/** 72,000 deltas, as many as in an hour at 20 per second, streamed in about a minute. */
const answerCount = 24;
const deltasPerAnswer = 3000;
const script = { kind: "prose", kilobytes: (deltasPerAnswer * 5) / 1000, ms: 1500 } as const;

/** Measures the memory of the page during a simulated hour. The first half is in one chat, the second half alternates between three. */
export async function measureOneHour(fixture: BenchFixture): Promise<MemorySample[]> {
  const chats = [
    await createChat(fixture, script),
    await createChat(fixture, script),
    await createChat(fixture, script),
  ];
  const tab = await Tab.open(fixture, fixture.url, 1);
  await tab.waitUntilReady();
  const { chat: empty } = await fixture.client.create();
  const sample = (minute: number) => sampleMemory(tab, minute, `#/chats/${empty.chat_id}`);
  // The warm-up loads and compiles code, which does not count as growth.
  for (const chatId of [...chats, ...chats]) await runOneAnswer(fixture, tab, chatId);
  const samples = [await sample(0)];
  for (let number = 1; number <= answerCount; number += 1) {
    const chatId = chats[number <= answerCount / 2 ? 0 : number % chats.length] ?? "";
    await runOneAnswer(fixture, tab, chatId);
    if (number % (answerCount / 2) === 0) samples.push(await sample((number / answerCount) * 60));
  }
  await tab.close();
  return samples;
}

async function runOneAnswer(fixture: BenchFixture, tab: Tab, chatId: string): Promise<void> {
  await tab.navigate(`#/chats/${chatId}`);
  const replyEnd = fixture.waitForReplyEnd();
  await tab.sendMessage("Continue.");
  await replyEnd;
  await tab.waitForAnswer();
}

async function sampleMemory(tab: Tab, minute: number, emptyChat: string): Promise<MemorySample> {
  const { cdp, page } = tab;
  // React retains the previous fiber tree, so the empty chat must be the previous view, too.
  for (const hash of [emptyChat, "#/", emptyChat, "#/"]) await tab.navigate(hash);
  // A closed chat is cached for ten seconds.
  await page.waitForTimeout(11_000);
  for (let pass = 0; pass < 3; pass += 1) await cdp.send("HeapProfiler.collectGarbage");
  const { usedSize } = await cdp.send("Runtime.getHeapUsage");
  const counters = await cdp.send("Memory.getDOMCounters");
  const { nodes, jsEventListeners: listeners, documents } = counters;
  return { minute, heapBytes: usedSize, nodes, listeners, documents };
}
