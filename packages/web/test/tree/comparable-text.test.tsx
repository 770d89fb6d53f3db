import { annotateCitations, type Block } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { buildAnswerViewModel } from "../../src/answer/answer-view-model.ts";
import { SourcesContext } from "../../src/answer/answer-context.ts";
import { MarkdownBlocks } from "../../src/markdown/markdown.tsx";
import { StaticCitation, getComparableText } from "../../src/tree/compare-view.tsx";
import { renderMarkup } from "../answer/render.tsx";
import { createCall, createResult, createVersion } from "../answer/answer-fixtures.ts";

function createAnswer(...block_list: Block[]): AnswerVersion {
  return createVersion({
    output: [
      createCall("c"),
      createResult("c"),
      { type: "message", id: "item", role: "assistant", status: "completed", block_list },
    ],
    references: [
      { reference_id: 1, item_id: "result_c", block_indexes: [0], title: "The weather in Paris" },
    ],
  });
}

function createTextBlock(text: string): Block {
  return { type: "text", text, annotations: annotateCitations(text, (n) => n === 1) };
}

test("citations in compared text show their source in a tooltip and are not links", () => {
  const version = createAnswer(createTextBlock("Sunny [^1], warm [^7], and `[^1]`."));
  const { blocks = [], text } = getComparableText(version);
  expect(text).toBe("Sunny [^1], warm [^7], and [^1].\n");
  const markup = renderMarkup(
    <SourcesContext value={buildAnswerViewModel(version).timeline.sources}>
      <MarkdownBlocks blocks={blocks} markTitle="" renderCitation={renderCitation} />
    </SourcesContext>,
  );
  expect(markup).toMatch(/aria-label="Source 1: The weather in Paris"[^>]*>1<\/span>, warm/);
  expect(markup).toMatch(/aria-label="Source 7 not found"[^>]*>7\?<\/span>, and/);
  expect(markup).toContain(">[^1]</code>");
  expect(markup).not.toContain("<button");
});

test("no character in the text is mistaken for a citation", () => {
  const { blocks } = getComparableText(
    createAnswer(createTextBlock("Sunny \u{FDD0}1\u{FDD2} \u{FDD1}2\u{FDD2}")),
  );
  expect(blocks).toEqual([{ type: "paragraph", inline: [{ type: "text", text: "Sunny 1 2" }] }]);
});

test("a transcript is compared as plain text, not as Markdown", () => {
  const transcript = "# one *two*\nthree";
  const audio: Block = { type: "audio", audio_url: { url: "/api/blobs/0f3" }, transcript };
  const { blocks, text } = getComparableText(createAnswer(createTextBlock("**Hear**"), audio));
  expect(text).toBe(`Hear\n${transcript}\n`);
  expect(blocks?.at(-1)).toMatchObject({
    type: "paragraph",
    inline: [{ text: "# one *two*" }, { type: "break" }, { text: "three" }],
  });
});

function renderCitation(number: number, resolved: boolean) {
  return <StaticCitation number={number} resolved={resolved} />;
}
