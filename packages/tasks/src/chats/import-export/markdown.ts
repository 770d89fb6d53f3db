import { blobPath } from "../../blobs.ts";
import { assertNever } from "../../error.ts";
import type { Block, OutputItem } from "../../items.ts";
import type { AnswerNodeVersion } from "../citable-answers.ts";
import {
  getAnswerChain,
  getChildIds,
  getChosenChild,
  getChosenVersion,
  currentPath,
  findNode,
  pathBelow,
} from "../chat-path.ts";
import type {
  AnswerNode,
  Attachment,
  Chat,
  ChatNode,
  ContextSnippet,
  UserNode,
  UserVersion,
} from "../chat-types.ts";
import {
  toCodeSpan,
  encloseMarkdown,
  toFencedCode,
  escapeMarkdown,
  isWebUrl,
  toMarkdownLink,
} from "./markdown-syntax.ts";
import { splitAtMarkers, AnswerNumbering, findReferenceTitle } from "./export-references.ts";
import { runToEnd } from "./run-to-end.ts";
import {
  describeEnding,
  formatAnswerAuthor,
  splitInput,
  listAnswerItems,
  splitResult,
} from "./answer-items.ts";

/** Exports the current path; with `allBranches`, every branch and every version. */
export function chatToMarkdown(chat: Chat, options: { allBranches?: boolean } = {}): string {
  return runToEnd(chatToMarkdownSteps(chat, options));
}

/** Like `chatToMarkdown`, in one step per message, so that the caller can do other work while a large chat is exported. */
export function* chatToMarkdownSteps(
  chat: Chat,
  { allBranches = false }: { allBranches?: boolean } = {},
): Generator<void, string> {
  const writer = new MarkdownWriter(chat, allBranches);
  writer.add(`# ${escapeMarkdown(chat.title.trim()) || "Chat"}`);
  const { instructions = "" } = chat.settings;
  if (instructions !== "") writer.addDetails("Instructions", [encloseMarkdown(instructions)]);
  yield* writer.addBranch(currentPath(chat));
  if (allBranches)
    for (const branch of iterateOtherBranches(chat)) {
      writer.addBranchHeading(branch[0]?.parent ?? null);
      yield* writer.addBranch(branch);
    }
  return writer.getText();
}

/** Yields the branches that start on the current path, then the branches that start on those, each down to its last node. */
function* iterateOtherBranches(chat: Chat): Generator<ChatNode[]> {
  const queue = [null, ...currentPath(chat).map(({ node_id }) => node_id)];
  for (let parent = queue.shift(); parent !== undefined; parent = queue.shift()) {
    const chosenChild = getChosenChild(chat, parent);
    for (const child of getChildIds(chat, parent)) {
      const first = child === chosenChild ? undefined : findNode(chat, child);
      if (first === undefined) continue;
      const branch = [first, ...pathBelow(chat, child)];
      queue.push(...branch.map(({ node_id }) => node_id));
      yield branch;
    }
  }
}

class MarkdownWriter {
  readonly #allBranches: boolean;
  readonly #paragraphs: string[] = [];
  /** Number of each written node by id, for headings such as "Another branch, after message 3". */
  readonly #numbers = new Map<string, number>();
  readonly #answerNumbering: AnswerNumbering;

  constructor(chat: Chat, allBranches: boolean) {
    this.#allBranches = allBranches;
    this.#answerNumbering = new AnswerNumbering(chat);
  }

  add(...paragraphs: readonly string[]): void {
    this.#paragraphs.push(...paragraphs.filter((paragraph) => paragraph !== ""));
  }

  getText(): string {
    return `${this.#paragraphs.join("\n\n")}\n`;
  }

  addDetails(summary: string, paragraphs: readonly string[]): void {
    this.add(`<details>\n<summary>${summary}</summary>`, ...paragraphs, "</details>");
  }

  addBranchHeading(parent: string | null): void {
    const number = parent === null ? undefined : this.#numbers.get(parent);
    const location = number === undefined ? "from the beginning" : `after message ${number}`;
    this.add(`# Another branch, ${location}`);
  }

  *addBranch(nodes: readonly ChatNode[]): Generator<void, void> {
    for (const node of nodes) {
      yield;
      if (node.kind === "separator") {
        this.add("* * *", "*Messages above this line are not sent to the model.*");
        continue;
      }
      this.#numbers.set(node.node_id, this.#numbers.size + 1);
      if (node.kind === "user") this.#addUserMessage(node);
      else this.#addAnswer(node);
    }
  }

  #addHeading(node: ChatNode, author: string): void {
    const number = this.#allBranches ? `${this.#numbers.get(node.node_id)}. ` : "";
    const hidden = node.hidden ? " (hidden from the model)" : "";
    this.add(`## ${number}${escapeMarkdown(author)}${hidden}`);
  }

  #addUserMessage(node: UserNode): void {
    this.#addHeading(node, "You");
    const shownVersion = getChosenVersion(node);
    this.#addUserVersion(shownVersion);
    for (const version of this.#allBranches ? node.versions : []) {
      if (version === shownVersion) continue;
      this.add(`### Another version, ${version.created_at}`);
      this.#addUserVersion(version);
    }
  }

  #addUserVersion({ text, attachments, contexts }: UserVersion): void {
    this.add(
      encloseMarkdown(text),
      ...contexts.map(formatContextBlock),
      ...attachments.map(formatAttachment),
    );
  }

  #addAnswer(node: AnswerNode): void {
    const chain = getAnswerChain(node, node.version);
    this.#addHeading(node, formatAnswerAuthor(chain));
    for (const version of chain) this.#addAnswerVersion({ node, version });
    for (const version of this.#allBranches ? node.versions : []) {
      if (chain.includes(version)) continue;
      this.add(
        `### Another version, ${version.created_at}: ${escapeMarkdown(formatAnswerAuthor([version]))}`,
      );
      this.#addAnswerVersion({ node, version });
    }
  }

  #addAnswerVersion(answer: AnswerNodeVersion): void {
    const { version } = answer;
    const { number, findOwner } = this.#answerNumbering.add(answer);
    const label = (n: number) => `[^${findOwner(n) ?? number}-${n}]`;
    const cite = (text: string) =>
      splitAtMarkers(text, (n) => findOwner(n) !== undefined)
        .map((piece) => (typeof piece === "string" ? piece : label(piece.reference)))
        .join("");
    for (const item of listAnswerItems(version)) {
      if (item.type === "message" && item.role === "user") {
        const { text, attachments } = splitInput(item);
        this.add(
          "**You, during the answer:**",
          encloseMarkdown(text),
          ...attachments.map(formatAttachment),
        );
      } else {
        this.#addItem(item, cite);
      }
    }
    this.add(
      ...version.notices.map((notice) => `> **Note:** ${escapeMarkdown(notice)}`),
      ...describeEnding(version).map((fact) => `> ${escapeMarkdown(fact)}`),
      ...version.references.map((reference) => {
        const title = findReferenceTitle(reference, version);
        const { url } = reference;
        const source =
          url !== undefined && isWebUrl(url) ? toMarkdownLink(title, url) : escapeMarkdown(title);
        return `${label(reference.reference_id)}: ${source}`;
      }),
    );
  }

  #addItem(item: OutputItem, cite: (text: string) => string): void {
    switch (item.type) {
      case "reasoning": {
        const texts = [...item.summary, ...(item.content ?? [])].map(({ text }) =>
          encloseMarkdown(text),
        );
        if (texts.some((text) => text !== "")) this.addDetails("Reasoning", texts);
        break;
      }
      case "tool_call":
        this.add(`**Tool call:** ${toCodeSpan(item.name)}`, toFencedCode(item.arguments, "json"));
        break;
      case "tool_result": {
        const { blocks, nested } = splitResult(item.block_list);
        this.add(`**Result** (${item.outcome ?? "completed"})`, ...blocks.map(formatResultBlock));
        if (nested.length === 0) break;
        this.add("<details>\n<summary>Sub-agent</summary>");
        for (const nestedItem of nested) this.#addItem(nestedItem, (text) => text);
        this.add("</details>");
        break;
      }
      case "message":
        for (const block of item.block_list)
          this.add(
            block.type === "text" ? encloseMarkdown(cite(block.text)) : formatMediaBlock(block),
          );
        break;
      default:
        assertNever(item);
    }
  }
}

function formatContextBlock({ kind, title, url, text }: ContextSnippet): string {
  const source =
    url !== undefined && isWebUrl(url) ? toMarkdownLink(title || url, url) : escapeMarkdown(title);
  return `**Context** (${kind}): ${source}\n\n${toFencedCode(text)}`;
}

function formatAttachment({ kind, url, filename, media_type }: Attachment): string {
  return formatMediaLink(kind, url, filename ?? media_type);
}

function formatResultBlock(block: Block): string {
  return block.type === "text" ? toFencedCode(block.text) : formatMediaBlock(block);
}

function formatMediaBlock(block: Exclude<Block, { type: "text" }>): string {
  switch (block.type) {
    case "image":
      return formatMediaLink("image", block.image_url.url, undefined);
    case "audio":
      return `${formatMediaLink("audio", block.audio_url.url, undefined)}${block.transcript === undefined ? "" : `\n\n> ${escapeMarkdown(block.transcript)}`}`;
    case "file":
      return formatMediaLink("file", block.file_url.url, block.filename);
    case "data":
      return toFencedCode(JSON.stringify(block.data, null, 2), "json");
    default:
      return assertNever(block);
  }
}

function formatMediaLink(kind: Attachment["kind"], url: string, name: string | undefined): string {
  const label = name ?? kind;
  // A tool announced the file but did not complete it.
  if (url === "") return `${escapeMarkdown(label)} (not finished)`;
  const isKnown = isWebUrl(url) || url.startsWith(blobPath) || /^data:(?:image|audio)\//.test(url);
  if (!isKnown) return `${escapeMarkdown(label)}: ${toCodeSpan(url.slice(0, 200))}`;
  return `${kind === "image" ? "!" : ""}${toMarkdownLink(label, url)}`;
}
