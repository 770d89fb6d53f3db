import { annotate, type Block } from "@deltawire/tasks";
import type { AnswerVersion } from "@deltawire/tasks/chats";
import { expect, test } from "vitest";
import { answerView } from "../../src/answer/answer-view.ts";
import { SourcesContext } from "../../src/answer/scene.ts";
import { DrawnBlocks } from "../../src/markdown/markdown.tsx";
import { Cited, saidIn } from "../../src/tree/compare.tsx";
import { draw } from "../answer/draw.tsx";
import { call, result, sampleVersion } from "../answer/sample-answer.ts";

function answered(...block_list: Block[]): AnswerVersion {
  return sampleVersion({
    output: [
      call("c"),
      result("c"),
      { type: "message", id: "item", role: "assistant", status: "completed", block_list },
    ],
    references: [
      { reference_id: 1, item_id: "result_c", block_indexes: [0], title: "The weather in Paris" },
    ],
  });
}

function citing(text: string): Block {
  return { type: "text", text, annotations: annotate(text, (n) => n === 1) };
}

test("references in what is compared are numbers that say what they stand for, and lead nowhere", () => {
  const version = answered(citing("Sunny [^1], warm [^7], and `[^1]`."));
  const { blocks = [], words } = saidIn(version);
  expect(words).toBe("Sunny [^1], warm [^7], and [^1].\n");
  const markup = draw(
    <SourcesContext value={answerView(version).timeline.sources}>
      <DrawnBlocks blocks={blocks} marked="" cite={cite} />
    </SourcesContext>,
  );
  expect(markup).toMatch(/aria-label="Source 1: The weather in Paris"[^>]*>1<\/span>, warm/);
  expect(markup).toMatch(/aria-label="Source 7 is not there"[^>]*>7\?<\/span>, and/);
  expect(markup).toContain(">[^1]</code>");
  expect(markup).not.toContain("<button");
});

test("no characters of a text are taken for a reference", () => {
  const { blocks } = saidIn(answered(citing("Sunny \u{FDD0}1\u{FDD2} \u{FDD1}2\u{FDD2}")));
  expect(blocks).toEqual([{ type: "paragraph", inline: [{ type: "text", text: "Sunny 1 2" }] }]);
});

test("what was spoken is compared as it was said, and no Markdown", () => {
  const transcript = "# one *two*\nthree";
  const spoken: Block = { type: "audio", audio_url: { url: "/api/blobs/0f3" }, transcript };
  const { blocks, words } = saidIn(answered(citing("**Hear**"), spoken));
  expect(words).toBe(`Hear\n${transcript}\n`);
  expect(blocks?.at(-1)).toMatchObject({
    type: "paragraph",
    inline: [{ text: "# one *two*" }, { type: "break" }, { text: "three" }],
  });
});

function cite(number: number, resolved: boolean) {
  return <Cited number={number} resolved={resolved} />;
}
