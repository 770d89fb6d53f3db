import {
  addUsage,
  withoutAnnotated,
  type Block,
  type OutputItem,
  type RetractedItem,
  type Usage,
} from "@deltawire/tasks";
import {
  answerTree,
  chainStats,
  toolRounds,
  type AnswerVersion,
  type ChainStats,
} from "@deltawire/tasks/chats";
import type { StatusKind } from "../parts/signs.tsx";
import { unreachable } from "../unreachable.ts";

/** What is said of an answer in one word. */
export type AnswerSays = "answering" | "waiting" | "done" | "stopped" | "failed" | "timedOut";

export function saysOf({ status, waiting }: Pick<AnswerVersion, "status" | "waiting">): AnswerSays {
  switch (status) {
    case "running":
      return waiting === true ? "waiting" : "answering";
    case "completed":
      return "done";
    case "aborted":
      return "stopped";
    case "error":
      return "failed";
    case "timeout":
      return "timedOut";
    default:
      return unreachable(status);
  }
}

export const statusKinds: Readonly<Record<AnswerSays, StatusKind>> = {
  answering: "running",
  waiting: "waiting",
  done: "ok",
  stopped: "stopped",
  failed: "failed",
  timedOut: "failed",
};

/** Of versions that are one answer together. */
export interface AnswerCost {
  /** With what sub-agents used. */
  readonly usage: Usage | undefined;
  readonly ofSubAgents: number;
  readonly timeMs: number | undefined;
  /** What models and tools did for it; undefined if no task has made it. */
  readonly stats: ChainStats | undefined;
  /** Round trips between the model and its tools, without those of sub-agents. */
  readonly toolRounds: number;
}

export function costOf(chain: readonly AnswerVersion[]): AnswerCost {
  const all = chain.flatMap(({ tree_usage, usage }) => tree_usage ?? usage ?? []);
  const own = chain.flatMap(({ usage, tree_usage }) => usage ?? tree_usage ?? []);
  const times = chain.flatMap(({ time_ms }) => time_ms ?? []);
  const usage = sumOf(all);
  const trees = chain.filter(({ round }) => round !== undefined).map(answerTree);
  return {
    usage,
    ofSubAgents: (usage?.total_tokens ?? 0) - (sumOf(own)?.total_tokens ?? 0),
    timeMs: times.length === 0 ? undefined : times.reduce((sum, ms) => sum + ms, 0),
    stats: trees.length === 0 ? undefined : chainStats(...trees),
    toolRounds: trees.reduce((sum, tree) => sum + toolRounds(tree), 0),
  };
}

function sumOf(usages: readonly Usage[]): Usage | undefined {
  const [first, ...rest] = usages;
  return first === undefined ? undefined : rest.reduce(addUsage, first);
}

/** Those who made the parts of an answer, each once, and the models behind agents. */
export function whoMade(chain: readonly Pick<AnswerVersion, "agent" | "model">[]): {
  readonly names: readonly string[];
  readonly models: readonly string[];
} {
  const names = chain.flatMap(({ agent, model }) => agent ?? model ?? []);
  const models = chain.flatMap(({ agent, model = [] }) =>
    agent === undefined || model === agent ? [] : model,
  );
  return { names: [...new Set(names)], models: [...new Set(models)] };
}

type Output = readonly (OutputItem | RetractedItem)[];

/** What an answer says to people; nothing of its reasoning and its tools. */
function saidIn(output: Output): Block[] {
  return output.flatMap((item) => (item.type === "message" ? item.block_list : []));
}

/** For the clipboard: its words without the markers of references. */
export function wordsToCopy(outputs: readonly Output[]): string {
  return outputs
    .flatMap(saidIn)
    .map((block) =>
      block.type === "text" ? withoutAnnotated(block.text, block.annotations) : wordsOf(block),
    )
    .filter((text) => text !== "")
    .join("\n\n");
}

/** Whether there is anything to copy: asked whenever an answer is drawn, so nothing is made for it. */
export function hasWordsToCopy({ output }: Pick<AnswerVersion, "output">): boolean {
  return saidIn(output).some((block) => wordsOf(block) !== "");
}

/** Whether it can be gone on with: it has words, and a model that chats has said them. */
export function canContinue({ status, model_type, output }: AnswerVersion): boolean {
  return (
    status !== "running" &&
    model_type === "chat" &&
    saidIn(output).some((block) => block.type === "text" && block.text.trim() !== "")
  );
}

function wordsOf(block: Block): string {
  if (block.type === "text") return block.text;
  return block.type === "audio" ? (block.transcript ?? "") : "";
}
