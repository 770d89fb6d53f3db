import { recordFrames, type FrameStats } from "./frames.ts";
import { formatModelName, type ReplyScript } from "./model.ts";
import { waitForIdleMachine } from "./machine-load.ts";
import { countCharacters, measureNavigation, runFloorPage } from "./probe.ts";
import { createChat, importChat, Tab, type BenchFixture } from "./bench-fixture.ts";

/** A stream that is measured once per round. */
export interface StreamCase {
  name: string;
  title: string;
  /** Only for comparison: measured in the first round, without goals. */
  isReference?: true;
  run: (fixture: BenchFixture) => Promise<FrameStats>;
}

const pace = { kilobytes: 100, ms: 8000 };
/** Simulates a small laptop or an older phone. */
export const cpuSlowdown = 4;

const mixed: ReplyScript = { kind: "mixed", ...pace };

export const streamCases: readonly StreamCase[] = [
  {
    name: "floor",
    title: "floor: plain text in pieces",
    isReference: true,
    run: (fixture) => runFloor(fixture, "&pieces"),
  },
  {
    name: "plain",
    title: "peer: plain text in one <pre>",
    isReference: true,
    run: (fixture) => runFloor(fixture, ""),
  },
  { name: "mixed", title: "mixed Markdown", run: (fixture) => runInNewChat(fixture, mixed) },
  {
    name: "code",
    title: "one code block",
    run: (fixture) => runInNewChat(fixture, { kind: "code", ...pace }),
  },
  {
    name: "list",
    title: "one list",
    run: (fixture) => runInNewChat(fixture, { kind: "list", ...pace }),
  },
  {
    name: "reasoning",
    title: "reasoning, expanded",
    run: (fixture) => runInNewChat(fixture, { kind: "reasoning", ...pace }, /^Thinking/),
  },
  {
    name: "arguments",
    title: "tool arguments, expanded",
    run: (fixture) => runInNewChat(fixture, { kind: "arguments", ...pace }, /write_file/),
  },
  {
    name: "long",
    title: "mixed, after 1,000 items",
    run: (fixture) => runInLongChat(fixture),
  },
];

async function runFloor(fixture: BenchFixture, query: string): Promise<FrameStats> {
  const tab = await Tab.open(
    fixture,
    `${fixture.floorUrl}?model=${formatModelName(mixed)}${query}`,
    cpuSlowdown,
  );
  return recordStream(tab, async () => {
    const replyEnd = fixture.waitForReplyEnd();
    await tab.page.evaluate(runFloorPage);
    await replyEnd;
  });
}

async function runInNewChat(
  fixture: BenchFixture,
  script: ReplyScript,
  expandButton?: RegExp,
): Promise<FrameStats> {
  const chatId = await createChat(fixture, script);
  const tab = await Tab.open(fixture, `${fixture.url}/#/chats/${chatId}`, cpuSlowdown);
  await tab.waitUntilReady();
  return recordAnswer(fixture, tab, expandButton);
}

async function runInLongChat(fixture: BenchFixture): Promise<FrameStats> {
  const { chatId, lastNodeId } = await importChat(fixture, longChatItems, mixed);
  const tab = await Tab.open(fixture, fixture.url, cpuSlowdown);
  await tab.waitUntilReady();
  await tab.page.evaluate(measureNavigation, {
    hash: `#/chats/${chatId}`,
    nodeId: lastNodeId,
  });
  await tab.page.waitForTimeout(500);
  return recordAnswer(fixture, tab);
}

export const longChatItems = 1000;

/** Records from sending the message to the end of the answer, while the list auto-scrolls. */
function recordAnswer(fixture: BenchFixture, tab: Tab, expandButton?: RegExp): Promise<FrameStats> {
  return recordStream(tab, async () => {
    const replyEnd = fixture.waitForReplyEnd();
    await tab.sendMessage("Please.");
    if (expandButton !== undefined)
      await tab.page.getByRole("button", { name: expandButton }).click();
    await replyEnd;
    await tab.waitForAnswer();
  });
}

async function recordStream(tab: Tab, run: () => Promise<void>): Promise<FrameStats> {
  const frames = await recordFrames(tab, run);
  const characters = await tab.page.evaluate(countCharacters);
  await tab.close();
  // 600 of 1,000 characters: Markdown syntax is not part of the rendered text.
  if (characters < pace.kilobytes * 600 || frames.seconds * 1000 < pace.ms * 0.9)
    throw new Error(
      `incomplete rendering: ${characters} characters in ${frames.seconds.toFixed(1)} s`,
    );
  return frames;
}

export interface StreamResult {
  streamCase: StreamCase;
  rounds: FrameStats[];
  /** CPU use of other processes just before each round, from 0 to 1. */
  otherLoads: number[];
}

/** Alternates between the cases, so that a temporary load on the machine affects all of them. */
export async function measureStreams(
  fixture: BenchFixture,
  cases: readonly StreamCase[],
  roundCount: number,
  idleTimeoutMs: number,
): Promise<StreamResult[]> {
  const results = cases.map((streamCase): StreamResult => ({
    streamCase,
    rounds: [],
    otherLoads: [],
  }));
  for (let round = 0; round < roundCount; round += 1)
    for (const { streamCase, rounds, otherLoads } of results) {
      if (round > 0 && streamCase.isReference) continue;
      otherLoads.push(await waitForIdleMachine(idleTimeoutMs));
      rounds.push(await streamCase.run(fixture));
    }
  return results;
}
