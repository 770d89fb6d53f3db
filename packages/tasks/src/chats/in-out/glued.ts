import { unreachable } from "../../error.ts";
import type { Usage } from "../../items.ts";
import { addUsage, noUsage } from "../../usage.ts";
import { answerTree } from "../answer-task.ts";
import { answerChain, chosenVersion, currentPath } from "../path.ts";
import type { AnswerStatus, AnswerVersion, Chat, UserVersion } from "../shapes.ts";
import { callRecords, chainStats, type CallRecord, type ChainStats } from "../tool-chain.ts";
import { contextText } from "./context-text.ts";
import { inputParts, plainText, saidIn } from "./said.ts";

/*
 * A view for programs that know a message as one string: the log of the tool chain with the answer behind it, and where the
 * one ends and the other begins. Places count UTF-16 units.
 */

export interface GluedAnswer {
  /** The log of the tool chain and the answer. */
  readonly content: string;
  /** How long the log is. */
  readonly hintSize: number;
  /** Where the answer stands in `content`; undefined where that is nothing else. */
  readonly userPromptSlice: readonly [start: number, end: number] | undefined;
  readonly toolChainResult: GluedChain;
}

export interface GluedChain {
  readonly toolCallHistory: readonly CallRecord[];
  readonly stats: ChainStats;
  readonly status: AnswerStatus;
  readonly error: string | undefined;
}

/** Of the versions that go on from one another, the oldest first. */
export function gluedAnswer(versions: readonly AnswerVersion[]): GluedAnswer {
  const said = versions.flatMap(saidIn);
  const lastOfChain = said.findLastIndex(
    ({ type }) => type === "tool_call" || type === "tool_result",
  );
  let log = "";
  let answer = "";
  for (const [index, item] of said.entries()) {
    switch (item.type) {
      case "reasoning":
        break;
      case "tool_call":
        log += `[${item.name}] ${item.arguments}\n`;
        break;
      case "tool_result":
        log += `=> ${item.outcome ?? "completed"}\n${plainText(item.block_list)}\n\n`;
        break;
      case "message": {
        const text =
          item.role === "user" ? `[user] ${inputParts(item).text}` : plainText(item.block_list);
        if (text === "") break;
        if (index < lastOfChain) log += `${text}\n\n`;
        else answer += answer === "" ? text : `\n\n${text}`;
        break;
      }
      default:
        unreachable(item);
    }
  }
  const last = versions.at(-1);
  const content = log + answer;
  return {
    content,
    hintSize: log.length,
    userPromptSlice: log === "" ? undefined : [log.length, content.length],
    toolChainResult: {
      toolCallHistory: versions.flatMap((version) => callRecords(answerTree(version))),
      stats: chainStats(...versions.map(answerTree)),
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
  /** The model. */
  readonly author?: string;
  readonly usage?: Usage;
  /** In milliseconds, from the sending to the end. */
  readonly time?: number;
  /** How many the model wrote. */
  readonly token?: number;
  readonly toolChainResult?: GluedChain;
}

/** The current path, as such programs keep it. */
export function chatToGlued(chat: Chat): { title: string; messages: GluedMessage[] } {
  const messages = currentPath(chat).map((node): GluedMessage => {
    switch (node.kind) {
      case "separator":
        return { type: "separator", id: node.node_id };
      case "user":
        return { type: "message", id: node.node_id, ...gluedPrompt(chosenVersion(node)) };
      case "answer":
        return {
          type: "message",
          id: node.node_id,
          ...storedAnswer(answerChain(node, node.version)),
        };
      default:
        return unreachable(node);
    }
  });
  return { title: chat.title, messages };
}

function gluedPrompt({ text, contexts, attachments }: UserVersion): GluedPayload {
  const before = [
    ...contexts.map(contextText),
    ...attachments.map(({ kind, filename, url }) => `[${kind}: ${filename ?? url}]`),
  ];
  const hint = before.map((one) => `${one}\n\n`).join("");
  const content = hint + text;
  return {
    message: { role: "user", content },
    ...(hint === "" ? {} : { userPromptSlice: [hint.length, content.length] }),
  };
}

function storedAnswer(versions: readonly AnswerVersion[]): GluedPayload {
  const { content, userPromptSlice, toolChainResult } = gluedAnswer(versions);
  const { model } = versions.at(-1) ?? {};
  const used = versions.flatMap(({ usage }) => usage ?? []);
  const usage = used.reduce(addUsage, noUsage);
  const times = versions.flatMap(({ time_ms }) => time_ms ?? []);
  return {
    message: { role: "assistant", content },
    ...(userPromptSlice === undefined ? {} : { userPromptSlice }),
    ...(model === undefined ? {} : { author: model }),
    ...(used.length === 0 ? {} : { usage, token: usage.output_tokens }),
    ...(times.length === 0 ? {} : { time: times.reduce((sum, one) => sum + one) }),
    ...(toolChainResult.stats.calls === 0 ? {} : { toolChainResult }),
  };
}
