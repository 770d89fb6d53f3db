import { expect, test } from "vitest";
import { CollapsiblePlainText } from "../../src/chat/user-message-view.tsx";
import { renderMarkup, toVisibleText } from "../answer/render.tsx";

const renderText = (text: string) =>
  toVisibleText(renderMarkup(<CollapsiblePlainText text={text} className="" />));

test("the button of collapsed text shows its number of lines", () => {
  expect(renderText("a line\n".repeat(200))).toContain("Show all (200 lines)");
});

test("for text of one line, the button shows its number of characters", () => {
  expect(renderText("x".repeat(50_000))).toContain("Show all (50K characters)");
  expect(renderText(`${"x".repeat(50_000)}\n`)).toContain("Show all (50K characters)");
});
