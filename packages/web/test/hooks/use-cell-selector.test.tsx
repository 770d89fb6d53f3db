import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { useCellSelector } from "../../src/hooks/use-cell.ts";
import { createCell, type Cell } from "../../src/cell.ts";

let callCount = 0;

function getLength(text: string | undefined): number {
  callCount += 1;
  return text?.length ?? -1;
}

function SelectedValue({ source, offset }: { source: Cell<string | undefined>; offset: number }) {
  const length = useCellSelector(source, getLength);
  const sum = useCellSelector(source, (text) => getLength(text) + offset);
  return (
    <p>
      {length} {sum}
    </p>
  );
}

test("a selector is called once per render, even if the value of the cell is undefined", () => {
  expect(
    renderToStaticMarkup(
      <SelectedValue source={createCell<string | undefined>("four")} offset={1} />,
    ),
  ).toBe("<p>4 5</p>");
  expect(
    renderToStaticMarkup(
      <SelectedValue source={createCell<string | undefined>(undefined)} offset={1} />,
    ),
  ).toBe("<p>-1 0</p>");
  expect(callCount).toBe(4);
});
