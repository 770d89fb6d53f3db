import { readFileSync } from "node:fs";
import { taskView } from "@deltawire/tasks";
import {
  answerTree,
  callRecords,
  chainStats,
  chainWarnings,
  chatsFromJson,
  upgradeNode,
  upgradeRemoval,
  wordsOf,
  type AnswerNode,
  type AnswerVersion,
  type CallRecord,
  type ChainStats,
} from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { sampleWorld } from "./in-out/sample-chat.ts";
import { WrittenChat } from "./written-chat.ts";

/** Answers of the demo that a release has stored which kept a record of calls beside the items. */
const earlier = JSON.parse(
  readFileSync(new URL("earlier-answers.json", import.meta.url), "utf8"),
) as Record<"weather" | "approved" | "denied" | "cites" | "fails" | "steered", EarlierAnswer>;

interface EarlierAnswer extends AnswerVersion {
  readonly chain: {
    readonly calls: readonly CallRecord[];
    readonly stats: ChainStats;
    readonly warnings?: readonly object[];
  };
}

test.each(Object.entries(earlier))("an earlier answer has all it had: %s", (_name, version) => {
  const { chain } = version;
  const upgraded = upgrade(version);
  expect(upgraded).not.toHaveProperty("chain");
  const tree = answerTree(upgraded);
  const counted = chain.calls.map(({ round: _round, ...call }) => call);
  expect(callRecords(tree).map(({ round: _round, ...call }) => call)).toEqual(counted);
  expect(chainStats(tree)).toEqual(chain.stats);
  expect(chainWarnings(tree)).toEqual(chain.warnings ?? []);
  expect(taskView(tree).output).toEqual(version.output);
  expect(taskView(tree).references).toEqual(version.references);
  expect(wordsOf(upgraded)).toBe(wordsOf(version));
  expect(tree.tasks[tree.root_task_id]).toMatchObject({
    status: "completed",
    usage: version.usage,
    tree_usage: version.tree_usage,
    inputs: version.inputs ?? [],
  });
});

test("an earlier answer may have more calls than a function can have arguments", () => {
  const output = Array.from({ length: 150_000 }, (_, at) => ({
    type: "tool_call" as const,
    id: `fc_${at}`,
    call_id: `call_${at}`,
    name: "search",
    arguments: "{}",
  }));
  expect(upgrade({ ...earlier.weather, output }).output).toHaveLength(150_000);
});

test("sub-agents of an earlier answer are tasks below it, each with its name, usage and failure", () => {
  const children = Object.values(upgrade(earlier.fails).child_tasks ?? {});
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

test("before references of sub-agents were stored, what their results number can be cited", () => {
  const { child_references: references = [], ...before } = earlier.cites;
  const [found, ...others] = upgrade(before).child_references ?? [];
  const places = [found, ...others].map((one) => [one?.task_id, one?.item_id, one?.reference_id]);
  const stored = references.filter(({ source }) => source === undefined);
  expect(places).toEqual(stored.map((one) => [one.task_id, one.item_id, one.reference_id]));
});

test("what is of today's shape stays the same object, also what was upgraded", () => {
  const upgraded = nodeOf(upgrade(earlier.cites));
  expect(upgradeNode(upgraded)).toBe(upgraded);
  const written = nodeOf({ ...earlier.weather, output: [], chain: undefined } as AnswerVersion);
  expect(upgradeNode(written)).toBe(written);
});

test("what was deleted comes back in today's shape", () => {
  const removed = { removal_id: "r", removed_at: "2026-01-01T00:00:00.000Z" };
  const version = earlier.cites;
  expect(
    upgradeRemoval({ ...removed, what: "version", node_id: "n", index: 0, version }),
  ).toMatchObject({ version: upgrade(version) });
  const place = { chosen: {}, bookmarks: [], index: 0, kept_children: [] };
  expect(
    upgradeRemoval({ ...removed, what: "nodes", nodes: [nodeOf(version)], ...place }),
  ).toMatchObject({ nodes: [nodeOf(upgrade(version))] });
});

test("a file that an earlier release has exported is imported in today's shape", () => {
  const written = new WrittenChat({}, sampleWorld());
  const { version_id: _id, created_at: _at, continues: _from, ...answer } = earlier.cites;
  const node = written.answer(written.user(null), "", answer);
  const file = {
    format: "deltawire.chat",
    version: 1,
    exported_at: "2026-03-02T00:00:00.000Z",
    chats: [{ chat: written.chat, replays: {} }],
    blobs: {},
  };
  const imported = chatsFromJson(file, sampleWorld("new"));
  expect(imported).toMatchObject({ ok: true });
  const found = imported.ok ? imported.chats[0]?.chat.nodes[node] : undefined;
  const { version_id: _own, created_at: _time, ...upgraded } = upgrade(earlier.cites);
  expect(found).toMatchObject({ versions: [{ child_references: upgraded.child_references }] });
  const [version] = found?.kind === "answer" ? found.versions : [];
  expect(Object.keys(version?.child_tasks ?? {})).toEqual(Object.keys(upgraded.child_tasks ?? {}));
  expect(version).not.toHaveProperty("chain");
});

function upgrade(version: AnswerVersion): AnswerVersion {
  const node = upgradeNode(nodeOf(version));
  const [upgraded] = node.kind === "answer" ? node.versions : [];
  if (upgraded === undefined) throw new TypeError("the node has one version");
  return upgraded;
}

function nodeOf(version: AnswerVersion): AnswerNode {
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
