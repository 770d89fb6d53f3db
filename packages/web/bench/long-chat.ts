import { recorded, type Frames } from "./frames.ts";
import { whenOthersRest } from "./others.ts";
import { drawn, elements, goTo, scrollUp } from "./probe.ts";
import { importedChat, Tab, type Scene } from "./scene.ts";
import { items, slowness } from "./streams.ts";

/** A chat of 1,000 items, opened in a page that was there and in one that was not. */
export interface Opened {
  /** Ms until its end was drawn. */
  within: number;
  fromOutside: number;
  longestTask: number;
  elements: number;
  /** 120 px a frame upwards, for 3 s. */
  scrolled: Frames;
  /** What others did with the processors just before, from 0 to 1. */
  others: number;
}

export async function openLongChats(
  scene: Scene,
  rounds: number,
  patienceMs: number,
): Promise<Opened[]> {
  const all: Opened[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const others = await whenOthersRest(patienceMs);
    all.push({ ...(await openLongChat(scene)), others });
  }
  return all;
}

async function openLongChat(scene: Scene): Promise<Omit<Opened, "others">> {
  const speech = { kind: "talk", kilobytes: 1, ms: 100 } as const;
  const { chatId, lastId: nodeId } = await importedChat(scene, items, speech);
  const hash = `#/chats/${chatId}`;
  const tab = await Tab.open(scene, scene.url, slowness);
  await tab.ready();
  let within = NaN;
  const opening = await recorded(tab, async () => {
    within = await tab.page.evaluate(goTo, { hash, nodeId });
  });
  const mounted = await tab.page.evaluate(elements);
  const scrolled = await recorded(tab, () =>
    tab.page.evaluate(scrollUp, { px: scrollPx, ms: scrollMs }),
  );
  await tab.close();
  const other = await Tab.open(scene, "about:blank", slowness);
  await other.page.goto(`${scene.url}/${hash}`, { waitUntil: "commit" });
  const fromOutside = await other.page.evaluate(drawn, { nodeId });
  await other.close();
  return { within, fromOutside, longestTask: opening.longestTask, elements: mounted, scrolled };
}

const scrollPx = 120;
const scrollMs = 3000;
