import { readFileSync } from "node:fs";
import { buildTaskView } from "@deltawire/tasks";
import {
  toAnswerTree,
  buildCallRecords,
  computeChainStats,
  mergeWarnings,
  chatsFromJson,
  upgradeNode,
  upgradeRemoval,
  getVersionText,
  type AnswerNode,
  type AnswerVersion,
  type CallRecord,
  type ChainStats,
} from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { createSampleEnvironment } from "./import-export/sample-chat.ts";
import { ChatBuilder } from "./chat-builder.ts";

/** Answers of the demo that were stored by a release with a separate record of calls. */
const legacyAnswers = JSON.parse(
  readFileSync(new URL("earlier-answers.json", import.meta.url), "utf8"),
) as Record<"weather" | "approved" | "denied" | "cites" | "fails" | "steered", LegacyAnswer>;

interface LegacyAnswer extends AnswerVersion {
  readonly chain: {
    readonly calls: readonly CallRecord[];
    readonly stats: ChainStats;
    readonly warnings?: readonly object[];
  };
}

test.each(Object.entries(legacyAnswers))(
  "the upgrade of an answer keeps its calls, output, references, warnings and usage: %s",
  (_name, version) => {
    const { chain } = version;
    const upgraded = upgradeVersion(version);
    expect(upgraded).not.toHaveProperty("chain");
    const tree = toAnswerTree(upgraded);
    const records = chain.calls.map(({ round: _round, ...call }) => call);
    expect(buildCallRecords(tree).map(({ round: _round, ...call }) => call)).toEqual(records);
    expect(computeChainStats(tree)).toEqual(chain.stats);
    expect(mergeWarnings(tree)).toEqual(chain.warnings ?? []);
    expect(buildTaskView(tree).output).toEqual(version.output);
    expect(buildTaskView(tree).references).toEqual(version.references);
    expect(getVersionText(upgraded)).toBe(getVersionText(version));
    expect(tree.tasks[tree.root_task_id]).toMatchObject({
      status: "completed",
      usage: version.usage,
      tree_usage: version.tree_usage,
      inputs: version.inputs ?? [],
    });
  },
);

test("an answer with 150,000 calls is upgraded without a stack overflow", () => {
  const output = Array.from({ length: 150_000 }, (_, index) => ({
    type: "tool_call" as const,
    id: `fc_${index}`,
    call_id: `call_${index}`,
    name: "search",
    arguments: "{}",
  }));
  expect(upgradeVersion({ ...legacyAnswers.weather, output }).output).toHaveLength(150_000);
});

test("the upgrade turns sub-agents into child tasks with their name, usage and error", () => {
  const children = Object.values(upgradeVersion(legacyAnswers.fails).child_tasks ?? {});
  const [editor, stranger] = children.toSorted((one, other) => one.info.depth - other.info.depth);
  expect(editor?.info).toMatchObject({ agent: "editor", depth: 1 });
  expect(stranger?.info).toMatchObject({
    agent: "stranger",
    depth: 2,
    parent_task_id: editor?.task_id,
  });
  expect(editor).toMatchObject({ status: "completed" });
  expect(editor?.tree_usage?.total_tokens).toBeGreaterThan(0);
  expect(stranger).toMatchObject({ status: "failed", error: { code: "upstream_redirect" } });
});

test("the upgrade infers missing references of sub-agents from the numbers of their blocks", () => {
  const { child_references: references = [], ...withoutReferences } = legacyAnswers.cites;
  const inferredReferences = upgradeVersion(withoutReferences).child_references ?? [];
  const positions = inferredReferences.map((one) => [one.task_id, one.item_id, one.reference_id]);
  const expectedReferences = references.filter(({ source }) => source === undefined);
  expect(positions).toEqual(
    expectedReferences.map((one) => [one.task_id, one.item_id, one.reference_id]),
  );
});

test("the upgrade returns a node in the current format as the same object", () => {
  const upgraded = toAnswerNode(upgradeVersion(legacyAnswers.cites));
  expect(upgradeNode(upgraded)).toBe(upgraded);
  const emptyAnswer = toAnswerNode({
    ...legacyAnswers.weather,
    output: [],
    chain: undefined,
  } as AnswerVersion);
  expect(upgradeNode(emptyAnswer)).toBe(emptyAnswer);
});

test("a removal is upgraded to the current format, with type instead of what", () => {
  const removalIds = { removal_id: "r", removed_at: "2026-01-01T00:00:00.000Z" };
  const version = legacyAnswers.cites;
  const removedVersion = upgradeRemoval({
    ...removalIds,
    what: "version",
    node_id: "n",
    index: 0,
    version,
  });
  expect(removedVersion).toEqual({
    ...removalIds,
    type: "version",
    node_id: "n",
    index: 0,
    version: upgradeVersion(version),
  });
  expect(upgradeRemoval(removedVersion)).toEqual(removedVersion);
  const removalFields = { chosen: {}, bookmarks: [], index: 0, kept_children: [] };
  expect(
    upgradeRemoval({
      ...removalIds,
      what: "nodes",
      nodes: [toAnswerNode(version)],
      ...removalFields,
    }),
  ).toEqual({
    ...removalIds,
    type: "nodes",
    nodes: [toAnswerNode(upgradeVersion(version))],
    ...removalFields,
  });
});

test("a file of an earlier release is upgraded when it is imported", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const { version_id: _id, created_at: _at, continues: _from, ...answer } = legacyAnswers.cites;
  const node = builder.addAnswer(builder.addMessage(null), "", answer);
  const file = {
    format: "deltawire.chat",
    version: 1,
    exported_at: "2026-03-02T00:00:00.000Z",
    chats: [{ chat: builder.chat, replays: {} }],
    blobs: {},
  };
  const imported = chatsFromJson(file, createSampleEnvironment("new"));
  expect(imported).toMatchObject({ ok: true });
  const importedNode = imported.ok ? imported.chats[0]?.chat.nodes[node] : undefined;
  const { version_id: _own, created_at: _time, ...upgraded } = upgradeVersion(legacyAnswers.cites);
  expect(importedNode).toMatchObject({
    versions: [{ child_references: upgraded.child_references }],
  });
  const [version] = importedNode?.kind === "answer" ? importedNode.versions : [];
  expect(Object.keys(version?.child_tasks ?? {})).toEqual(Object.keys(upgraded.child_tasks ?? {}));
  expect(version).not.toHaveProperty("chain");
});

function upgradeVersion(version: AnswerVersion): AnswerVersion {
  const node = upgradeNode(toAnswerNode(version));
  const [upgraded] = node.kind === "answer" ? node.versions : [];
  if (upgraded === undefined) throw new TypeError("the upgraded node has no version");
  return upgraded;
}

function toAnswerNode(version: AnswerVersion): AnswerNode {
  return {
    kind: "answer",
    node_id: "node_1",
    parent: "node_0",
    children: [],
    created_at: version.created_at,
    pinned: false,
    hidden: false,
    versions: [version],
    version: version.version_id,
  };
}
