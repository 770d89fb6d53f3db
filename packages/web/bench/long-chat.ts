import { recordFrames, type FrameStats } from "./frames.ts";
import { waitForIdleMachine } from "./machine-load.ts";
import { countElements, measureNavigation, scrollUp, waitForNode } from "./probe.ts";
import { importChat, Tab, type BenchFixture } from "./bench-fixture.ts";
import { longChatItems, cpuSlowdown } from "./streams.ts";

/** Results of opening and scrolling a chat of 1,000 items. */
export interface LongChatResult {
  /** Time until its end is rendered, in a loaded page, in ms. */
  navigationMs: number;
  /** The same including the load of the page. */
  pageLoadMs: number;
  longestTask: number;
  elements: number;
  /** Frames while scrolling up by 120 px per frame for 3 s. */
  scrolling: FrameStats;
  /** CPU use of other processes just before, from 0 to 1. */
  otherLoad: number;
}

export async function measureLongChats(
  fixture: BenchFixture,
  rounds: number,
  idleTimeoutMs: number,
): Promise<LongChatResult[]> {
  const results: LongChatResult[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const otherLoad = await waitForIdleMachine(idleTimeoutMs);
    results.push({ ...(await openLongChat(fixture)), otherLoad });
  }
  return results;
}

async function openLongChat(fixture: BenchFixture): Promise<Omit<LongChatResult, "otherLoad">> {
  const script = { kind: "prose", kilobytes: 1, ms: 100 } as const;
  const { chatId, lastNodeId: nodeId } = await importChat(fixture, longChatItems, script);
  const hash = `#/chats/${chatId}`;
  const tab = await Tab.open(fixture, fixture.url, cpuSlowdown);
  await tab.waitUntilReady();
  let navigationMs = NaN;
  const opening = await recordFrames(tab, async () => {
    navigationMs = await tab.page.evaluate(measureNavigation, { hash, nodeId });
  });
  const elements = await tab.page.evaluate(countElements);
  const scrolling = await recordFrames(tab, () =>
    tab.page.evaluate(scrollUp, { px: scrollPx, ms: scrollMs }),
  );
  await tab.close();
  const newTab = await Tab.open(fixture, "about:blank", cpuSlowdown);
  await newTab.page.goto(`${fixture.url}/${hash}`, { waitUntil: "commit" });
  const pageLoadMs = await newTab.page.evaluate(waitForNode, { nodeId });
  await newTab.close();
  return { navigationMs, pageLoadMs, longestTask: opening.longestTask, elements, scrolling };
}

const scrollPx = 120;
const scrollMs = 3000;
