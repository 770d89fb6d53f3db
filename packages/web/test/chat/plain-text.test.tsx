import { expect, test } from "vitest";
import { PlainText } from "../../src/chat/user-message.tsx";
import { draw, wordsIn } from "../answer/draw.tsx";

const shown = (text: string) => wordsIn(draw(<PlainText text={text} className="" />));

test("a long text says how many lines it has", () => {
  expect(shown("a line\n".repeat(200))).toContain("Show all (200 lines)");
});

test("a long text of one line says how many characters it has", () => {
  expect(shown("x".repeat(50_000))).toContain("Show all (50K characters)");
  expect(shown(`${"x".repeat(50_000)}\n`)).toContain("Show all (50K characters)");
});
