import { unreachable } from "../../error.ts";
import type { Block, OutputItem } from "../../items.ts";
import type { CitedAnswer } from "../cited-answer.ts";
import { answerChain, chosenVersion, currentPath } from "../path.ts";
import type {
  AnswerNode,
  AnswerVersion,
  Attachment,
  Chat,
  ChatNode,
  ContextSnippet,
} from "../shapes.ts";
import { blobAt, toDataUrl } from "./blob-text.ts";
import { pageStyle, pageStyleHash } from "./html-style.ts";
import type { BlobReader } from "./imported.ts";
import { escaped, linkTo, type Cite } from "./inline-html.ts";
import { markdownToHtml } from "./markdown-to-html.ts";
import { isLink } from "./markdown-text.ts";
import { ExportedAnswers, referenceTitle } from "./references-of.ts";
import { runToEnd } from "./run-to-end.ts";
import { answerFacts, answerSpeaker, inputParts, saidIn, splitResult } from "./said.ts";

/**
 * The current path as one page that needs nothing else: no script, and no request to anywhere. What is not at hand as a
 * blob is linked, and fetched only by somebody who follows the link.
 */
export function chatToHtml(chat: Chat, options: HtmlOptions): string {
  return runToEnd(chatToHtmlSteps(chat, options));
}

export interface HtmlOptions {
  readonly blobs: BlobReader;
  readonly language?: string;
}

/** The same message by message, for a chat of megabytes: the caller may do something else between the steps. */
export function* chatToHtmlSteps(chat: Chat, options: HtmlOptions): Generator<void, string> {
  const { language = "" } = options;
  const lang = /^[A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*$/.test(language) ? ` lang="${language}"` : "";
  const title = escaped(chat.title.trim() || "Chat");
  const body = yield* new Page(chat, options.blobs).chat(chat);
  return `<!doctype html>
<html${lang}>
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
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

const policy = `default-src 'none'; img-src data:; media-src data:; style-src '${pageStyleHash}'; base-uri 'none'; form-action 'none'`;

class Page {
  readonly #blobs: BlobReader;
  readonly #answers: ExportedAnswers;

  constructor(chat: Chat, blobs: BlobReader) {
    this.#blobs = blobs;
    this.#answers = new ExportedAnswers(chat);
  }

  *chat(chat: Chat): Generator<void, string> {
    const { instructions = "" } = chat.settings;
    const sections = [instructions === "" ? "" : details("Instructions", said(instructions))];
    for (const node of currentPath(chat)) {
      sections.push(this.#node(node));
      yield;
    }
    return sections.filter((html) => html !== "").join("\n");
  }

  #node(node: ChatNode): string {
    switch (node.kind) {
      case "separator":
        return `<p class="cut">What stands above is not told to the model.</p>`;
      case "user": {
        const { text, contexts, attachments } = chosenVersion(node);
        const body = [said(text), ...contexts.map(contextHtml), this.#media(attachments)];
        return section("user", "You", node.hidden, body);
      }
      case "answer":
        return this.#answer(node);
      default:
        return unreachable(node);
    }
  }

  #answer(node: AnswerNode): string {
    const chain = answerChain(node, node.version);
    const body = chain.map((version) => this.#version({ node, version }));
    return section("answer", answerSpeaker(chain), node.hidden, body);
  }

  #version(answer: CitedAnswer): string {
    const { version } = answer;
    const { number, ownerOf } = this.#answers.add(answer);
    const cite: Cite = (n) => {
      const owner = ownerOf(n);
      return owner === undefined ? undefined : `<sup><a href="#r${owner}-${n}">${n}</a></sup>`;
    };
    return [
      ...saidIn(version).map((item) => {
        if (item.type !== "message" || item.role !== "user") return this.#item(item, cite);
        const { text, attachments } = inputParts(item);
        return `<div class="meanwhile"><h3>You, meanwhile</h3>${said(text)}${this.#media(attachments)}</div>`;
      }),
      ...version.notices.map((notice) => `<p class="note" dir="auto">${escaped(notice)}</p>`),
      ...answerFacts(version).map((fact) => `<p class="fault" dir="auto">${escaped(fact)}</p>`),
      sources(version, number),
    ].join("\n");
  }

  #item(item: OutputItem, cite: Cite): string {
    switch (item.type) {
      case "reasoning": {
        const texts = [...item.summary, ...(item.content ?? [])].map(({ text }) => text);
        const html = texts.filter((text) => text !== "").map((text) => marked(text));
        return html.length === 0 ? "" : details("Reasoning", html.join(""));
      }
      case "tool_call":
        return details(
          `Tool call: ${item.name}`,
          `<pre><code>${escaped(indented(item.arguments))}</code></pre>`,
        );
      case "tool_result": {
        const { blocks, nested } = splitResult(item.block_list);
        const shown = blocks.map((block) =>
          block.type === "text" ? `<pre>${escaped(block.text)}</pre>` : this.#block(block, cite),
        );
        const below = nested.map((one) => this.#item(one, () => undefined)).join("\n");
        const more = below === "" ? "" : `<div class="nested">${below}</div>`;
        return details(`Result: ${item.outcome ?? "completed"}`, shown.join("") + more);
      }
      case "message":
        return item.block_list.map((block) => this.#block(block, cite)).join("\n");
      default:
        return unreachable(item);
    }
  }

  #block(block: Block, cite: Cite): string {
    switch (block.type) {
      case "text":
        return block.text.trim() === "" ? "" : marked(block.text, cite);
      case "image":
        return this.#medium({ kind: "image", url: block.image_url.url });
      case "audio":
        return (
          this.#medium({ kind: "audio", url: block.audio_url.url }) +
          (block.transcript === undefined ? "" : said(block.transcript))
        );
      case "file": {
        const { filename, file_url } = block;
        const named = filename === undefined ? {} : { filename };
        return this.#medium({ kind: "file", url: file_url.url, ...named });
      }
      case "data":
        return `<pre><code>${escaped(JSON.stringify(block.data, null, 2))}</code></pre>`;
      default:
        return unreachable(block);
    }
  }

  #media(attachments: readonly Attachment[]): string {
    return attachments.map((attachment) => this.#medium(attachment)).join("\n");
  }

  #medium({ kind, url, filename }: Attachment): string {
    const label = escaped(filename ?? kind);
    // A tool announced it, and ended before it was made.
    if (url === "") return `<p class="medium" dir="auto">${label} (not finished)</p>`;
    const blob = blobAt(url, this.#blobs);
    if (blob === undefined)
      return `<p class="medium" dir="auto">${isLink(url) ? linkTo(url, label) : `${label} (not in this file)`}</p>`;
    const source = escaped(toDataUrl(blob));
    if (kind === "image" && blob.media_type.startsWith("image/"))
      return `<p class="medium"><img src="${source}" alt="${label}"></p>`;
    if (kind === "audio" && blob.media_type.startsWith("audio/"))
      return `<p class="medium"><audio controls preload="metadata" src="${source}"></audio></p>`;
    // To be saved, never to be shown as a page of its own.
    const saved = toDataUrl({ ...blob, media_type: "application/octet-stream" });
    return `<p class="medium" dir="auto"><a href="${escaped(saved)}" download="${label}">${label}</a></p>`;
  }
}

function section(kind: string, who: string, hidden: boolean, body: readonly string[]): string {
  const note = hidden ? " <small>hidden from the model</small>" : "";
  const html = body.filter((one) => one !== "").join("\n");
  return `<section class="${kind}">\n<h2>${escaped(who)}${note}</h2>\n${html}\n</section>`;
}

/** People's own words are no Markdown. */
function said(text: string): string {
  return text === "" ? "" : `<p class="said" dir="auto">${escaped(text)}</p>`;
}

function marked(markdown: string, cite?: Cite): string {
  return `<div class="text" dir="auto">${markdownToHtml(markdown, cite)}</div>`;
}

function details(summary: string, html: string): string {
  return `<details><summary>${escaped(summary)}</summary>${html}</details>`;
}

function contextHtml({ kind, title, url, text }: ContextSnippet): string {
  const from = url === undefined || !isLink(url) ? "" : `<p>${linkTo(url, escaped(url))}</p>`;
  return details(`Context (${kind}): ${title}`, `${from}<pre>${escaped(text)}</pre>`);
}

function sources(version: AnswerVersion, number: number): string {
  if (version.references.length === 0) return "";
  const lines = version.references.map((reference) => {
    const { reference_id: n, url } = reference;
    const title = escaped(referenceTitle(reference, version));
    const told = url !== undefined && isLink(url) ? linkTo(url, title) : title;
    return `<li id="r${number}-${n}" value="${n}">${told}</li>`;
  });
  return `<ol class="sources">${lines.join("")}</ol>`;
}

/** Arguments are JSON, mostly. */
function indented(json: string): string {
  try {
    return JSON.stringify(JSON.parse(json), null, 2);
  } catch {
    return json;
  }
}
