import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { buildAnswerViewModel, type AnswerViewModel } from "../../src/answer/answer-view-model.ts";
import {
  getTimelineCalls,
  getTimelineSteps,
  type SubAgentViewModel,
  type TimelineViewModel,
} from "../../src/answer/timeline-view-model.ts";
import { startGatewayProcess, type GatewayProcess } from "../gateway-process.ts";
import { recordDemoRun, type DemoRun } from "./demo-run.ts";

const papers = fileURLToPath(new URL("../../../agent/test/mcp-server.ts", import.meta.url));

/** Sub-agents at two levels: one cites what it read, one has a model that always fails. */
const config = `
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
let citingRun: DemoRun;
let failingRun: DemoRun;

beforeAll(async () => {
  gateway = await startGatewayProcess(config);
  const record = (text: string) =>
    recordDemoRun(gateway.url, { text, settings: { agent: "chief" } });
  [citingRun, failingRun] = await Promise.all([
    record("ask editor to ask reader for the documents"),
    record("ask editor to ask stranger about it"),
  ]);
});

afterAll(() => gateway.close());

test("nested sub-agents have the same view model from the chat as from their tasks", () => {
  for (const { tree, version } of [citingRun, failingRun]) {
    expect(buildAnswerViewModel(version).timeline).toEqual(
      buildAnswerViewModel(version, tree).timeline,
    );
    expect(listSubAgents(buildAnswerViewModel(version))).toHaveLength(2);
  }
});

test("a citation of the deepest sub-agent has its title and URL at every level", () => {
  const view = buildAnswerViewModel(citingRun.version);
  const [editor, reader] = listSubAgents(view);
  const [searchCall] = reader === undefined ? [] : getTimelineCalls(reader.timeline);
  const path = [
    ...listCallIds(view.timeline),
    ...listCallIds(editor?.timeline),
    ...listCallIds(reader?.timeline),
  ];
  expect(path).toHaveLength(3);
  for (const [depth, timeline] of [view.timeline, editor?.timeline, reader?.timeline].entries()) {
    expect(listCitedNumbers(timeline)).toContain(3);
    expect(timeline?.sources.get(3)).toMatchObject({
      title: "More of it",
      url: "https://example.com/more",
      blocks: [searchCall?.blocks[2]],
      path: path.slice(depth),
    });
  }
});

test("the error of the deepest sub-agent is shown there and not in its parent", () => {
  const [editor, stranger] = listSubAgents(buildAnswerViewModel(failingRun.version));
  expect(editor?.error).toBeUndefined();
  expect(stranger?.error).toMatchObject({
    code: "upstream_redirect",
    message: expect.stringContaining("redirected to") as string,
  });
});

/** Returns the chain of sub-agents, outermost first. Each task must have at most one. */
function listSubAgents({ timeline }: AnswerViewModel): SubAgentViewModel[] {
  const subAgents: SubAgentViewModel[] = [];
  for (let current: TimelineViewModel | undefined = timeline; current !== undefined;) {
    const child: SubAgentViewModel | undefined = getTimelineCalls(current)[0]?.child;
    if (child !== undefined) subAgents.push(child);
    current = child?.timeline;
  }
  return subAgents;
}

function listCallIds(timeline: TimelineViewModel | undefined): string[] {
  return timeline === undefined ? [] : getTimelineCalls(timeline).map(({ call }) => call.call_id);
}

function listCitedNumbers(timeline: TimelineViewModel | undefined): number[] {
  const steps = timeline === undefined ? [] : getTimelineSteps(timeline);
  return steps.flatMap((step) =>
    step.type !== "message"
      ? []
      : step.item.block_list.flatMap((block) =>
          block.type === "text"
            ? (block.annotations ?? []).map(({ reference_id }) => reference_id)
            : [],
        ),
  );
}
