import { assertNever } from "../../error.ts";
import type { Usage } from "../../items.ts";
import { addUsage, noUsage } from "../../usage.ts";
import { toAnswerTree } from "../answer-task.ts";
import { getAnswerChain, getChosenVersion, currentPath } from "../chat-path.ts";
import type { AnswerStatus, AnswerVersion, Chat, UserVersion } from "../chat-types.ts";
import {
  buildCallRecords,
  computeChainStats,
  type CallRecord,
  type ChainStats,
} from "../tool-chain.ts";
import { formatContext } from "./context-text.ts";
import { splitInput, blocksToText, listAnswerItems } from "./answer-items.ts";

/*
 * An export for programs that store a message as one string: the log of the tool calls followed by the answer, with the index
 * where the answer starts. Indexes and lengths are in UTF-16 units.
 */

export interface GluedAnswer {
  /** The log of the tool calls, followed by the answer. */
  readonly content: string;
  /** Length of the log. */
  readonly hintSize: number;
  /** Position of the answer in `content`. Undefined if there is no log. */
  readonly userPromptSlice: readonly [start: number, end: number] | undefined;
  readonly toolChainResult: GluedChain;
}

export interface GluedChain {
  readonly toolCallHistory: readonly CallRecord[];
  readonly stats: ChainStats;
  readonly status: AnswerStatus;
  readonly error: string | undefined;
}

/** `versions`: an answer and the versions that it continues, oldest first. */
export function toGluedAnswer(versions: readonly AnswerVersion[]): GluedAnswer {
  const items = versions.flatMap(listAnswerItems);
  const lastToolIndex = items.findLastIndex(
    ({ type }) => type === "tool_call" || type === "tool_result",
  );
  let log = "";
  let answer = "";
  for (const [index, item] of items.entries()) {
    switch (item.type) {
      case "reasoning":
        break;
      case "tool_call":
        log += `[${item.name}] ${item.arguments}\n`;
        break;
      case "tool_result":
        log += `=> ${item.outcome ?? "completed"}\n${blocksToText(item.block_list)}\n\n`;
        break;
      case "message": {
        const text =
          item.role === "user" ? `[user] ${splitInput(item).text}` : blocksToText(item.block_list);
        if (text === "") break;
        if (index < lastToolIndex) log += `${text}\n\n`;
        else answer += answer === "" ? text : `\n\n${text}`;
        break;
      }
      default:
        assertNever(item);
    }
  }
  const last = versions.at(-1);
  const content = log + answer;
  return {
    content,
    hintSize: log.length,
    userPromptSlice: log === "" ? undefined : [log.length, content.length],
    toolChainResult: {
      toolCallHistory: versions.flatMap((version) => buildCallRecords(toAnswerTree(version))),
      stats: computeChainStats(...versions.map(toAnswerTree)),
      status: last?.status ?? "completed",
      error: last?.error?.message,
    },
  };
}

export type GluedMessage =
  | { readonly type: "separator"; readonly id: string }
  | ({ readonly type: "message"; readonly id: string } & GluedPayload);

export interface GluedPayload {
  readonly message: { readonly role: "user" | "assistant"; readonly content: string };
  readonly userPromptSlice?: readonly [start: number, end: number];
  /** Name of the model. */
  readonly author?: string;
  readonly usage?: Usage;
  /** Milliseconds from sending to the end. */
  readonly time?: number;
  /** Number of tokens that the model wrote. */
  readonly token?: number;
  readonly toolChainResult?: GluedChain;
}

/** Converts the current path of a chat. */
export function chatToGlued(chat: Chat): { title: string; messages: GluedMessage[] } {
  const messages = currentPath(chat).map((node): GluedMessage => {
    switch (node.kind) {
      case "separator":
        return { type: "separator", id: node.node_id };
      case "user":
        return { type: "message", id: node.node_id, ...toGluedPrompt(getChosenVersion(node)) };
      case "answer":
        return {
          type: "message",
          id: node.node_id,
          ...toGluedPayload(getAnswerChain(node, node.version)),
        };
      default:
        return assertNever(node);
    }
  });
  return { title: chat.title, messages };
}

function toGluedPrompt({ text, contexts, attachments }: UserVersion): GluedPayload {
  const prefixes = [
    ...contexts.map(formatContext),
    ...attachments.map(({ kind, filename, url }) => `[${kind}: ${filename ?? url}]`),
  ];
  const hint = prefixes.map((text) => `${text}\n\n`).join("");
  const content = hint + text;
  return {
    message: { role: "user", content },
    ...(hint === "" ? {} : { userPromptSlice: [hint.length, content.length] }),
  };
}

function toGluedPayload(versions: readonly AnswerVersion[]): GluedPayload {
  const { content, userPromptSlice, toolChainResult } = toGluedAnswer(versions);
  const { model } = versions.at(-1) ?? {};
  const usages = versions.flatMap(({ usage }) => usage ?? []);
  const usage = usages.reduce(addUsage, noUsage);
  const times = versions.flatMap(({ time_ms }) => time_ms ?? []);
  return {
    message: { role: "assistant", content },
    ...(userPromptSlice === undefined ? {} : { userPromptSlice }),
    ...(model === undefined ? {} : { author: model }),
    ...(usages.length === 0 ? {} : { usage, token: usage.output_tokens }),
    ...(times.length === 0 ? {} : { time: times.reduce((sum, time) => sum + time) }),
    ...(toolChainResult.stats.calls === 0 ? {} : { toolChainResult }),
  };
}
