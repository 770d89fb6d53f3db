import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { answerView, type AnswerView } from "../../src/answer/answer-view.ts";
import {
  callsIn,
  stepsIn,
  type SubAgentView,
  type TimelineView,
} from "../../src/answer/timeline-view.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { demoRun, type DemoRun } from "./demo-run.ts";

const papers = fileURLToPath(new URL("../../../agent/test/mcp-server.ts", import.meta.url));

/** Agents two deep, of which one cites what it read and one has a model that never answers. */
const agents = `
[mcp.papers]
command = ${JSON.stringify(process.execPath)}
args = ["--conditions=@deltawire/source", ${JSON.stringify(papers)}]
tools = ["documents"]
approval = "auto"

[agents.chief]
model = "demo/clean"
effort = "none"
agents = ["editor"]

[agents.editor]
model = "demo/clean"
effort = "none"
agents = ["reader", "stranger"]

[agents.reader]
model = "demo/clean"
effort = "none"
tool_groups = ["papers"]

[agents.stranger]
model = "demo/redirects"
`;

let gateway: GatewayProcess;
let cites: DemoRun;
let fails: DemoRun;

beforeAll(async () => {
  gateway = await startGatewayProcess(agents);
  const ask = (text: string) => demoRun(gateway.url, { text, settings: { agent: "chief" } });
  [cites, fails] = await Promise.all([
    ask("ask editor to ask reader for the documents"),
    ask("ask editor to ask stranger about it"),
  ]);
});

afterAll(() => gateway.close());

test("sub-agents two deep are drawn from their chat as from their tasks", () => {
  for (const { tree, version } of [cites, fails]) {
    expect(answerView(version).timeline).toEqual(answerView(version, tree).timeline);
    expect(below(answerView(version))).toHaveLength(2);
  }
});

test("what the deepest one cites has its title and address at every level", () => {
  const kept = answerView(cites.version);
  const [editor, reader] = below(kept);
  const [found] = reader === undefined ? [] : callsIn(reader.timeline);
  const way = [
    ...callIds(kept.timeline),
    ...callIds(editor?.timeline),
    ...callIds(reader?.timeline),
  ];
  expect(way).toHaveLength(3);
  for (const [depth, timeline] of [kept.timeline, editor?.timeline, reader?.timeline].entries()) {
    expect(citedBy(timeline)).toContain(3);
    expect(timeline?.sources.get(3)).toMatchObject({
      title: "More of it",
      url: "https://example.com/more",
      blocks: [found?.blocks[2]],
      path: way.slice(depth),
    });
  }
});

test("why the deepest one failed is told where it was asked", () => {
  const [editor, stranger] = below(answerView(fails.version));
  expect(editor?.error).toBeUndefined();
  expect(stranger?.error).toMatchObject({
    code: "upstream_redirect",
    message: expect.stringContaining("answered 307") as string,
  });
});

/** The sub-agents of an answer whose every task has one at most, the highest first. */
function below({ timeline }: AnswerView): SubAgentView[] {
  const found: SubAgentView[] = [];
  for (let at: TimelineView | undefined = timeline; at !== undefined;) {
    const child: SubAgentView | undefined = callsIn(at)[0]?.child;
    if (child !== undefined) found.push(child);
    at = child?.timeline;
  }
  return found;
}

function callIds(timeline: TimelineView | undefined): string[] {
  return timeline === undefined ? [] : callsIn(timeline).map(({ call }) => call.call_id);
}

function citedBy(timeline: TimelineView | undefined): number[] {
  const steps = timeline === undefined ? [] : stepsIn(timeline);
  return steps.flatMap((step) =>
    step.is !== "message"
      ? []
      : step.item.block_list.flatMap((block) =>
          block.type === "text"
            ? (block.annotations ?? []).map(({ reference_id }) => reference_id)
            : [],
        ),
  );
}
