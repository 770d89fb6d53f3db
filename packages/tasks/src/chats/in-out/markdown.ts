import { blobPath } from "../../blobs.ts";
import { unreachable } from "../../error.ts";
import type { Block, OutputItem } from "../../items.ts";
import type { CitedAnswer } from "../cited-answer.ts";
import {
  answerChain,
  childrenOf,
  chosenChild,
  chosenVersion,
  currentPath,
  nodeOf,
  pathUnder,
} from "../path.ts";
import type {
  AnswerNode,
  Attachment,
  Chat,
  ChatNode,
  ContextSnippet,
  UserNode,
  UserVersion,
} from "../shapes.ts";
import { codeSpan, enclosed, fenced, inline, isLink, link } from "./markdown-text.ts";
import { cutAtMarkers, ExportedAnswers, referenceTitle } from "./references-of.ts";
import { runToEnd } from "./run-to-end.ts";
import { answerFacts, answerSpeaker, inputParts, saidIn, splitResult } from "./said.ts";

/** The current path; with `all`, every branch and every version of what was said. */
export function chatToMarkdown(chat: Chat, options: { all?: boolean } = {}): string {
  return runToEnd(chatToMarkdownSteps(chat, options));
}

/** The same message by message, for a chat of megabytes: the caller may do something else between the steps. */
export function* chatToMarkdownSteps(
  chat: Chat,
  options: { all?: boolean } = {},
): Generator<void, string> {
  const writer = new MarkdownWriter(chat, options.all === true);
  writer.add(`# ${inline(chat.title.trim()) || "Chat"}`);
  const { instructions = "" } = chat.settings;
  if (instructions !== "") writer.details("Instructions", [enclosed(instructions)]);
  yield* writer.branch(currentPath(chat));
  if (options.all === true)
    for (const branch of otherBranches(chat)) {
      writer.beginBranch(branch[0]?.parent ?? null);
      yield* writer.branch(branch);
    }
  return writer.text();
}

/** Those that leave the current path, and those that leave these, each to its end. */
function* otherBranches(chat: Chat): Generator<ChatNode[]> {
  const open = [null, ...currentPath(chat).map(({ node_id }) => node_id)];
  for (let parent = open.shift(); parent !== undefined; parent = open.shift()) {
    const chosen = chosenChild(chat, parent);
    for (const child of childrenOf(chat, parent)) {
      const first = child === chosen ? undefined : nodeOf(chat, child);
      if (first === undefined) continue;
      const branch = [first, ...pathUnder(chat, child)];
      open.push(...branch.map(({ node_id }) => node_id));
      yield branch;
    }
  }
}

class MarkdownWriter {
  readonly #all: boolean;
  readonly #paragraphs: string[] = [];
  /** Of the nodes that were written, by which a branch is told where it begins. */
  readonly #numbers = new Map<string, number>();
  readonly #answers: ExportedAnswers;

  constructor(chat: Chat, all: boolean) {
    this.#all = all;
    this.#answers = new ExportedAnswers(chat);
  }

  add(...paragraphs: readonly string[]): void {
    this.#paragraphs.push(...paragraphs.filter((one) => one !== ""));
  }

  text(): string {
    return `${this.#paragraphs.join("\n\n")}\n`;
  }

  details(summary: string, paragraphs: readonly string[]): void {
    this.add(`<details>\n<summary>${summary}</summary>`, ...paragraphs, "</details>");
  }

  beginBranch(parent: string | null): void {
    const number = parent === null ? undefined : this.#numbers.get(parent);
    const where = number === undefined ? "from the beginning" : `after message ${number}`;
    this.add(`# Another branch, ${where}`);
  }

  *branch(nodes: readonly ChatNode[]): Generator<void, void> {
    for (const node of nodes) {
      yield;
      if (node.kind === "separator") {
        this.add("* * *", "*What stands above is not told to the model.*");
        continue;
      }
      this.#numbers.set(node.node_id, this.#numbers.size + 1);
      if (node.kind === "user") this.#user(node);
      else this.#answer(node);
    }
  }

  #heading(node: ChatNode, who: string): void {
    const number = this.#all ? `${this.#numbers.get(node.node_id)}. ` : "";
    const hidden = node.hidden ? " (hidden from the model)" : "";
    this.add(`## ${number}${inline(who)}${hidden}`);
  }

  #user(node: UserNode): void {
    this.#heading(node, "You");
    const shown = chosenVersion(node);
    this.#words(shown);
    for (const version of this.#all ? node.versions : []) {
      if (version === shown) continue;
      this.add(`### Another version, ${version.created_at}`);
      this.#words(version);
    }
  }

  #words({ text, attachments, contexts }: UserVersion): void {
    this.add(enclosed(text), ...contexts.map(contextBlock), ...attachments.map(attachmentLine));
  }

  #answer(node: AnswerNode): void {
    const chain = answerChain(node, node.version);
    this.#heading(node, answerSpeaker(chain));
    for (const version of chain) this.#version({ node, version });
    for (const version of this.#all ? node.versions : []) {
      if (chain.includes(version)) continue;
      this.add(`### Another version, ${version.created_at}: ${inline(answerSpeaker([version]))}`);
      this.#version({ node, version });
    }
  }

  #version(answer: CitedAnswer): void {
    const { version } = answer;
    const { number, ownerOf } = this.#answers.add(answer);
    const label = (n: number) => `[^${ownerOf(n) ?? number}-${n}]`;
    const cite = (text: string) =>
      cutAtMarkers(text, (n) => ownerOf(n) !== undefined)
        .map((piece) => (typeof piece === "string" ? piece : label(piece.reference)))
        .join("");
    for (const item of saidIn(version)) {
      if (item.type === "message" && item.role === "user") {
        const { text, attachments } = inputParts(item);
        this.add("**You, meanwhile:**", enclosed(text), ...attachments.map(attachmentLine));
      } else {
        this.#item(item, cite);
      }
    }
    this.add(
      ...version.notices.map((notice) => `> **Note:** ${inline(notice)}`),
      ...answerFacts(version).map((fact) => `> ${inline(fact)}`),
      ...version.references.map((reference) => {
        const title = referenceTitle(reference, version);
        const { url } = reference;
        const told = url !== undefined && isLink(url) ? link(title, url) : inline(title);
        return `${label(reference.reference_id)}: ${told}`;
      }),
    );
  }

  #item(item: OutputItem, cite: (text: string) => string): void {
    switch (item.type) {
      case "reasoning": {
        const texts = [...item.summary, ...(item.content ?? [])].map(({ text }) => enclosed(text));
        if (texts.some((text) => text !== "")) this.details("Reasoning", texts);
        break;
      }
      case "tool_call":
        this.add(`**Tool call:** ${codeSpan(item.name)}`, fenced(item.arguments, "json"));
        break;
      case "tool_result": {
        const { blocks, nested } = splitResult(item.block_list);
        this.add(`**Result** (${item.outcome ?? "completed"})`, ...blocks.map(resultBlock));
        if (nested.length === 0) break;
        this.add("<details>\n<summary>What the sub-agent did</summary>");
        for (const one of nested) this.#item(one, (text) => text);
        this.add("</details>");
        break;
      }
      case "message":
        for (const block of item.block_list)
          this.add(block.type === "text" ? enclosed(cite(block.text)) : mediaLine(block));
        break;
      default:
        unreachable(item);
    }
  }
}

function contextBlock({ kind, title, url, text }: ContextSnippet): string {
  const from = url !== undefined && isLink(url) ? link(title || url, url) : inline(title);
  return `**Context** (${kind}): ${from}\n\n${fenced(text)}`;
}

function attachmentLine({ kind, url, filename, media_type }: Attachment): string {
  return medium(kind, url, filename ?? media_type);
}

function resultBlock(block: Block): string {
  return block.type === "text" ? fenced(block.text) : mediaLine(block);
}

function mediaLine(block: Exclude<Block, { type: "text" }>): string {
  switch (block.type) {
    case "image":
      return medium("image", block.image_url.url, undefined);
    case "audio":
      return `${medium("audio", block.audio_url.url, undefined)}${block.transcript === undefined ? "" : `\n\n> ${inline(block.transcript)}`}`;
    case "file":
      return medium("file", block.file_url.url, block.filename);
    case "data":
      return fenced(JSON.stringify(block.data, null, 2), "json");
    default:
      return unreachable(block);
  }
}

function medium(kind: Attachment["kind"], url: string, name: string | undefined): string {
  const label = name ?? kind;
  // A tool announced it, and ended before it was made.
  if (url === "") return `${inline(label)} (not finished)`;
  const isKnown = isLink(url) || url.startsWith(blobPath) || /^data:(?:image|audio)\//.test(url);
  if (!isKnown) return `${inline(label)}: ${codeSpan(url.slice(0, 200))}`;
  return `${kind === "image" ? "!" : ""}${link(label, url)}`;
}
