import { recorded, type Frames } from "./frames.ts";
import { modelOf, type Speech } from "./model.ts";
import { whenOthersRest } from "./others.ts";
import { goTo, letters, runFloor } from "./probe.ts";
import { importedChat, newChat, Tab, type Scene } from "./scene.ts";

/** Something that is drawn for some seconds, as often as there are rounds. */
export interface Case {
  name: string;
  title: string;
  /** What others are compared with: once is enough. */
  beside?: true;
  play: (scene: Scene) => Promise<Frames>;
}

/** So fast an answer of 100 KB comes. */
const speed = { kilobytes: 100, ms: 8000 };
/** A processor of a small laptop, or of a phone that is not new. */
export const slowness = 4;

const mixed: Speech = { kind: "mixed", ...speed };

export const streamCases: readonly Case[] = [
  {
    name: "floor",
    title: "floor: its letters alone, in pieces",
    beside: true,
    play: (scene) => onFloor(scene, "&pieces"),
  },
  {
    name: "plain",
    title: "peer: its letters in one <pre>",
    beside: true,
    play: (scene) => onFloor(scene, ""),
  },
  { name: "mixed", title: "mixed Markdown", play: (scene) => inNewChat(scene, mixed) },
  {
    name: "code",
    title: "one block of code",
    play: (scene) => inNewChat(scene, { kind: "code", ...speed }),
  },
  {
    name: "list",
    title: "one list",
    play: (scene) => inNewChat(scene, { kind: "list", ...speed }),
  },
  {
    name: "reasoning",
    title: "reasoning, unfolded",
    play: (scene) => inNewChat(scene, { kind: "reasoning", ...speed }, /^Thinking/),
  },
  {
    name: "arguments",
    title: "arguments of a tool, unfolded",
    play: (scene) => inNewChat(scene, { kind: "arguments", ...speed }, /write_file/),
  },
  {
    name: "long",
    title: "mixed, after 1,000 items",
    play: (scene) => inLongChat(scene),
  },
];

async function onFloor(scene: Scene, more: string): Promise<Frames> {
  const tab = await Tab.open(scene, `${scene.floor}?model=${modelOf(mixed)}${more}`, slowness);
  return watched(tab, async () => {
    const ended = scene.replyEnded();
    await tab.page.evaluate(runFloor);
    await ended;
  });
}

async function inNewChat(scene: Scene, speech: Speech, unfolds?: RegExp): Promise<Frames> {
  const chatId = await newChat(scene, speech);
  const tab = await Tab.open(scene, `${scene.url}/#/chats/${chatId}`, slowness);
  await tab.ready();
  return answered(scene, tab, unfolds);
}

async function inLongChat(scene: Scene): Promise<Frames> {
  const { chatId, lastId } = await importedChat(scene, items, mixed);
  const tab = await Tab.open(scene, scene.url, slowness);
  await tab.ready();
  await tab.page.evaluate(goTo, { hash: `#/chats/${chatId}`, nodeId: lastId });
  await tab.page.waitForTimeout(500);
  return answered(scene, tab);
}

export const items = 1000;

/** From the question to the end of the answer, followed all the way. */
function answered(scene: Scene, tab: Tab, unfolds?: RegExp): Promise<Frames> {
  return watched(tab, async () => {
    const ended = scene.replyEnded();
    await tab.say("Please.");
    if (unfolds !== undefined) await tab.page.getByRole("button", { name: unfolds }).click();
    await ended;
    await tab.written();
  });
}

async function watched(tab: Tab, run: () => Promise<void>): Promise<Frames> {
  const frames = await recorded(tab, run);
  const drawn = await tab.page.evaluate(letters);
  await tab.close();
  // Marks of Markdown are no letters of the page.
  if (drawn < speed.kilobytes * 600 || frames.seconds * 1000 < speed.ms * 0.9)
    throw new Error(`${drawn} letters in ${frames.seconds.toFixed(1)} s: it was not drawn whole`);
  return frames;
}

/** What one case came to. */
export interface Played {
  of: Case;
  rounds: Frames[];
  /** What others did with the processors just before each, from 0 to 1. */
  others: number[];
}

/** In turns: whatever slows the machine down for a while slows down all. */
export async function played(
  scene: Scene,
  cases: readonly Case[],
  rounds: number,
  patienceMs: number,
): Promise<Played[]> {
  const all = cases.map((of): Played => ({ of, rounds: [], others: [] }));
  for (let round = 0; round < rounds; round += 1)
    for (const { of, rounds: done, others } of all) {
      if (round > 0 && of.beside) continue;
      others.push(await whenOthersRest(patienceMs));
      done.push(await of.play(scene));
    }
  return all;
}
