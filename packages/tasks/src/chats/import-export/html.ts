import { assertNever } from "../../error.ts";
import type { Block, OutputItem } from "../../items.ts";
import type { AnswerNodeVersion } from "../citable-answers.ts";
import { getAnswerChain, getChosenVersion, currentPath } from "../chat-path.ts";
import type {
  AnswerNode,
  AnswerVersion,
  Attachment,
  Chat,
  ChatNode,
  ContextSnippet,
} from "../chat-types.ts";
import { readBlob, blobToDataUrl } from "./file-blobs.ts";
import { pageStyle, pageStyleHash } from "./html-style.ts";
import type { BlobReader } from "./import-types.ts";
import { escapeHtml, renderLink, type RenderCitation } from "./inline-html.ts";
import { markdownToHtml } from "./markdown-to-html.ts";
import { isWebUrl } from "./markdown-syntax.ts";
import { AnswerNumbering, findReferenceTitle } from "./export-references.ts";
import { runToEnd } from "./run-to-end.ts";
import {
  describeEnding,
  formatAnswerAuthor,
  splitInput,
  listAnswerItems,
  splitResult,
} from "./answer-items.ts";

/**
 * Renders the current path as one self-contained HTML page, without scripts and without network requests. Media that are not
 * available as blobs are linked.
 */
export function chatToHtml(chat: Chat, options: HtmlOptions): string {
  return runToEnd(chatToHtmlSteps(chat, options));
}

export interface HtmlOptions {
  readonly blobs: BlobReader;
  readonly language?: string;
}

/** Like `chatToHtml`, in one step per message, so that the caller can do other work while a large chat is exported. */
export function* chatToHtmlSteps(chat: Chat, options: HtmlOptions): Generator<void, string> {
  const { language = "" } = options;
  const lang = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(language) ? ` lang="${language}"` : "";
  const title = escapeHtml(chat.title.trim() || "Chat");
  const body = yield* new HtmlRenderer(chat, options.blobs).renderChat();
  return `<!doctype html>
<html${lang}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${contentSecurityPolicy}">
<meta name="referrer" content="no-referrer">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${title}</title>
<style>${pageStyle}</style>
</head>
<body>
<header><h1 dir="auto">${title}</h1></header>
<main>
${body}
</main>
</body>
</html>
`;
}

const contentSecurityPolicy = `default-src 'none'; img-src data:; media-src data:; style-src '${pageStyleHash}'; base-uri 'none'; form-action 'none'`;

class HtmlRenderer {
  readonly #chat: Chat;
  readonly #blobs: BlobReader;
  readonly #answerNumbering: AnswerNumbering;

  constructor(chat: Chat, blobs: BlobReader) {
    this.#chat = chat;
    this.#blobs = blobs;
    this.#answerNumbering = new AnswerNumbering(chat);
  }

  *renderChat(): Generator<void, string> {
    const { instructions = "" } = this.#chat.settings;
    const sections = [
      instructions === "" ? "" : renderDetails("Instructions", renderPlainText(instructions)),
    ];
    for (const node of currentPath(this.#chat)) {
      sections.push(this.#renderNode(node));
      yield;
    }
    return sections.filter((html) => html !== "").join("\n");
  }

  #renderNode(node: ChatNode): string {
    switch (node.kind) {
      case "separator":
        return `<p class="separator">Messages above this line are not sent to the model.</p>`;
      case "user": {
        const { text, contexts, attachments } = getChosenVersion(node);
        const body = [
          renderPlainText(text),
          ...contexts.map(renderContext),
          this.#renderMediaList(attachments),
        ];
        return renderSection("user", "You", node.hidden, body);
      }
      case "answer":
        return this.#renderAnswer(node);
      default:
        return assertNever(node);
    }
  }

  #renderAnswer(node: AnswerNode): string {
    const chain = getAnswerChain(node, node.version);
    const body = chain.map((version) => this.#renderVersion({ node, version }));
    return renderSection("answer", formatAnswerAuthor(chain), node.hidden, body);
  }

  #renderVersion(answer: AnswerNodeVersion): string {
    const { version } = answer;
    const { number, findOwner } = this.#answerNumbering.add(answer);
    const cite: RenderCitation = (n) => {
      const owner = findOwner(n);
      return owner === undefined ? undefined : `<sup><a href="#r${owner}-${n}">${n}</a></sup>`;
    };
    return [
      ...listAnswerItems(version).map((item) => {
        if (item.type !== "message" || item.role !== "user") return this.#renderItem(item, cite);
        const { text, attachments } = splitInput(item);
        return `<div class="steering"><h3>You, during the answer</h3>${renderPlainText(text)}${this.#renderMediaList(attachments)}</div>`;
      }),
      ...version.notices.map((notice) => `<p class="note" dir="auto">${escapeHtml(notice)}</p>`),
      ...describeEnding(version).map(
        (fact) => `<p class="error" dir="auto">${escapeHtml(fact)}</p>`,
      ),
      renderSources(version, number),
    ].join("\n");
  }

  #renderItem(item: OutputItem, cite: RenderCitation): string {
    switch (item.type) {
      case "reasoning": {
        const texts = [...item.summary, ...(item.content ?? [])].map(({ text }) => text);
        const html = texts.filter((text) => text !== "").map((text) => renderMarkdown(text));
        return html.length === 0 ? "" : renderDetails("Reasoning", html.join(""));
      }
      case "tool_call":
        return renderDetails(
          `Tool call: ${item.name}`,
          `<pre><code>${escapeHtml(indentJson(item.arguments))}</code></pre>`,
        );
      case "tool_result": {
        const { blocks, nested } = splitResult(item.block_list);
        const blockHtml = blocks.map((block) =>
          block.type === "text"
            ? `<pre>${escapeHtml(block.text)}</pre>`
            : this.#renderBlock(block, cite),
        );
        const nestedHtml = nested
          .map((nestedItem) => this.#renderItem(nestedItem, () => undefined))
          .join("\n");
        const nestedElement = nestedHtml === "" ? "" : `<div class="nested">${nestedHtml}</div>`;
        return renderDetails(
          `Result: ${item.outcome ?? "completed"}`,
          blockHtml.join("") + nestedElement,
        );
      }
      case "message":
        return item.block_list.map((block) => this.#renderBlock(block, cite)).join("\n");
      default:
        return assertNever(item);
    }
  }

  #renderBlock(block: Block, cite: RenderCitation): string {
    switch (block.type) {
      case "text":
        return block.text.trim() === "" ? "" : renderMarkdown(block.text, cite);
      case "image":
        return this.#renderMedia({ kind: "image", url: block.image_url.url });
      case "audio":
        return (
          this.#renderMedia({ kind: "audio", url: block.audio_url.url }) +
          (block.transcript === undefined ? "" : renderPlainText(block.transcript))
        );
      case "file": {
        const { filename, file_url } = block;
        const nameField = filename === undefined ? {} : { filename };
        return this.#renderMedia({ kind: "file", url: file_url.url, ...nameField });
      }
      case "data":
        return `<pre><code>${escapeHtml(JSON.stringify(block.data, null, 2))}</code></pre>`;
      default:
        return assertNever(block);
    }
  }

  #renderMediaList(attachments: readonly Attachment[]): string {
    return attachments.map((attachment) => this.#renderMedia(attachment)).join("\n");
  }

  #renderMedia({ kind, url, filename }: Attachment): string {
    const label = escapeHtml(filename ?? kind);
    // A tool announced the file but did not complete it.
    if (url === "") return `<p class="media" dir="auto">${label} (not finished)</p>`;
    const blob = readBlob(url, this.#blobs);
    if (blob === undefined)
      return `<p class="media" dir="auto">${isWebUrl(url) ? renderLink(url, label) : `${label} (not in this file)`}</p>`;
    const source = escapeHtml(blobToDataUrl(blob));
    if (kind === "image" && blob.media_type.startsWith("image/"))
      return `<p class="media"><img src="${source}" alt="${label}"></p>`;
    if (kind === "audio" && blob.media_type.startsWith("audio/"))
      return `<p class="media"><audio controls preload="metadata" src="${source}"></audio></p>`;
    // For download only: the browser must not open it as a page.
    const downloadUrl = blobToDataUrl({ ...blob, media_type: "application/octet-stream" });
    return `<p class="media" dir="auto"><a href="${escapeHtml(downloadUrl)}" download="${label}">${label}</a></p>`;
  }
}

function renderSection(
  kind: string,
  author: string,
  isHidden: boolean,
  body: readonly string[],
): string {
  const note = isHidden ? " <small>hidden from the model</small>" : "";
  const html = body.filter((part) => part !== "").join("\n");
  return `<section class="${kind}">\n<h2>${escapeHtml(author)}${note}</h2>\n${html}\n</section>`;
}

/** User messages are plain text, not Markdown. */
function renderPlainText(text: string): string {
  return text === "" ? "" : `<p class="plain" dir="auto">${escapeHtml(text)}</p>`;
}

function renderMarkdown(markdown: string, cite?: RenderCitation): string {
  return `<div class="text" dir="auto">${markdownToHtml(markdown, cite)}</div>`;
}

function renderDetails(summary: string, html: string): string {
  return `<details><summary>${escapeHtml(summary)}</summary>${html}</details>`;
}

function renderContext({ kind, title, url, text }: ContextSnippet): string {
  const sourceHtml =
    url === undefined || !isWebUrl(url) ? "" : `<p>${renderLink(url, escapeHtml(url))}</p>`;
  return renderDetails(
    `Context (${kind}): ${title}`,
    `${sourceHtml}<pre>${escapeHtml(text)}</pre>`,
  );
}

function renderSources(version: AnswerVersion, number: number): string {
  if (version.references.length === 0) return "";
  const lines = version.references.map((reference) => {
    const { reference_id: n, url } = reference;
    const title = escapeHtml(findReferenceTitle(reference, version));
    const sourceHtml = url !== undefined && isWebUrl(url) ? renderLink(url, title) : title;
    return `<li id="r${number}-${n}" value="${n}">${sourceHtml}</li>`;
  });
  return `<ol class="sources">${lines.join("")}</ol>`;
}

/** Arguments are usually JSON; other text is returned unchanged. */
function indentJson(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
