import { addUsage, roundCost, type Usage } from "@deltawire/tasks";
import type { ChatEdit, Removal } from "@deltawire/tasks/chats";
import fc from "fast-check";
import { listNodes, type ModelTree, type ModelNode } from "./tree-model.ts";
import { buildAnswer, buildEnd, runningAnswer } from "./chat-builder.ts";

/** A random edit; the numbers select among the nodes and versions that exist at that time. */
export interface Step {
  what: (typeof editTypes)[number];
  node: number;
  version: number;
  flag: boolean;
}

const editTypes = [
  "add_message",
  "add_message",
  "add_answer",
  "add_answer",
  "insert_answer",
  "add_separator",
  "add_message_version",
  "add_answer_version",
  "add_answer_version",
  "choose_branch",
  "choose_version",
  "pin",
  "hide",
  "bookmark",
  "bookmark",
  "finish_answer",
  "finish_answer",
  "answer_waits",
  "delete_node",
  "delete_node",
  "delete_version",
  "delete_version",
  "restore",
  "restore",
  "restore",
  "rename",
  "title_by_model",
  "tag",
  "pin_chat",
  "settings",
  "extract",
] as const;

export const steps = fc.array(
  fc.record<Step>({
    what: fc.constantFrom(...editTypes),
    node: fc.nat(1000),
    version: fc.nat(1000),
    flag: fc.boolean(),
  }),
  { minLength: 20, maxLength: 80, size: "max" },
);

const isSuitable: Partial<Record<Step["what"], (node: ModelNode) => boolean>> = {
  add_answer: ({ kind }) => kind === "user",
  insert_answer: ({ kind, children }) => kind === "user" && children.length > 0,
  add_answer_version: ({ kind }) => kind === "answer",
  finish_answer: ({ versions }) => versions.some(({ status }) => status === "running"),
  answer_waits: ({ versions }) => versions.some(({ status }) => status === "running"),
  choose_version: ({ versions }) => versions.length > 1,
  delete_version: ({ versions }) => versions.length > 1,
  delete_node: ({ kind, children }) => kind !== "user" && children.length > 0,
};

/** Returns the edit of a step. Undefined if there is nothing to restore. */
export function toEdit(
  step: Step,
  tree: ModelTree,
  removals: readonly { removal: Removal }[],
): ChatEdit | { type: "extract"; node_id: string } | undefined {
  const message = { text: "?" };
  const nodesInTree = listNodes(tree);
  if (nodesInTree.length === 0) return { type: "add_message", parent: null, message };
  const suitableNodes = nodesInTree.filter((one) => isSuitable[step.what]?.(one) ?? true);
  // Usually a suitable node, sometimes any node, and sometimes a missing one.
  const nodes = step.node % 4 === 0 || suitableNodes.length === 0 ? nodesInTree : suitableNodes;
  const node = step.node % 17 === 16 ? undefined : nodes[step.node % nodes.length];
  const node_id = node?.id ?? "nowhere";
  const versions = node?.versions ?? [];
  const version_id = versions[step.version % (versions.length + 1)]?.id ?? "hasOwnProperty";
  const ids = { node_id, version_id };
  const answer = step.flag ? runningAnswer : { ...buildAnswer("!"), ...buildUsage(step) };
  const value = step.flag;
  switch (step.what) {
    case "add_message":
      return { type: step.what, parent: step.version % 7 === 0 ? null : node_id, message };
    case "add_answer":
      return { type: step.what, parent: node_id, answer };
    case "insert_answer":
      return { type: step.what, after: node_id, answer };
    case "add_separator":
      return { type: step.what, after: node_id };
    case "add_message_version":
      return { type: step.what, node_id, message };
    case "add_answer_version": {
      const continued = step.version % 3 === 0 ? { continues: version_id } : {};
      return { type: step.what, node_id, answer: { ...answer, ...continued } };
    }
    case "choose_branch":
      return { type: step.what, node_id };
    case "choose_version":
    case "delete_version":
      return { type: step.what, ...ids };
    case "pin":
    case "hide":
    case "bookmark":
      return { type: step.what, node_id, value };
    case "answer_waits":
      return { type: step.what, ...ids, value };
    case "finish_answer":
      return { type: step.what, ...ids, end: { ...buildEnd("aborted", "!"), ...buildUsage(step) } };
    case "rename":
      return { type: step.what, title: ["", "a", "b"][step.version % 3] ?? "" };
    case "title_by_model":
      return { type: step.what, title: "named", ...buildUsage(step) };
    case "tag":
      return { type: step.what, tags: [[], ["a"], ["b", "a"], ["a", "a"]][step.version % 4] ?? [] };
    case "pin_chat":
      return { type: step.what, value };
    case "settings":
      return { type: step.what, patch: patches[step.version % patches.length] ?? {} };
    case "extract":
      return { type: step.what, node_id };
    case "delete_node":
      return { type: step.what, node_id, children: step.flag ? "delete" : "keep" };
    case "restore": {
      // Half of the time the last removal, which users restore most often, otherwise any.
      const index = step.flag ? removals.length - 1 : step.node % Math.max(1, removals.length);
      const removal = removals[index]?.removal;
      return removal && { type: step.what, removal };
    }
    default:
      throw new Error(step.what satisfies never);
  }
}

const patches = [
  { turns: 3 },
  { turns: null, instructions: "Be brief." },
  { instructions: null, tool_groups: ["time"] },
  { turns: -1 },
];

/** Usage with and without each optional field, zero and non-zero; costs are multiples of a billionth. */
function buildUsage({ node, version, flag }: Step): { usage?: Usage; tree_usage?: Usage } {
  const usage: Usage = {
    input_tokens: node,
    output_tokens: version,
    total_tokens: node + version,
    ...(node % 3 === 0 ? { cached_tokens: version % 5 } : {}),
    ...(version % 3 === 0 ? { reasoning_tokens: node % 5 } : {}),
    ...(node % 4 > 1 ? { cost: roundCost((node % 8) * 0.1 + version / 1e9) } : {}),
    ...(node % 11 === 0 ? { estimated: true } : {}),
  };
  if (version % 4 === 0) return {};
  return flag ? { usage, tree_usage: addUsage(usage, usage) } : { usage };
}
