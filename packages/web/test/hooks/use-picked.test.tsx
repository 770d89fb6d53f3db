import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { usePicked } from "../../src/hooks/use-cell.ts";
import { cell, type Cell } from "../../src/cell.ts";

let picks = 0;

function lengthOf(text: string | undefined): number {
  picks += 1;
  return text?.length ?? -1;
}

function Shown({ source, more }: { source: Cell<string | undefined>; more: number }) {
  const length = usePicked(source, lengthOf);
  const again = usePicked(source, (text) => lengthOf(text) + more);
  return (
    <p>
      {length} {again}
    </p>
  );
}

test("a value is picked from what a cell holds, also where it holds nothing yet", () => {
  expect(renderToStaticMarkup(<Shown source={cell<string | undefined>("four")} more={1} />)).toBe(
    "<p>4 5</p>",
  );
  expect(
    renderToStaticMarkup(<Shown source={cell<string | undefined>(undefined)} more={1} />),
  ).toBe("<p>-1 0</p>");
  expect(picks).toBe(4);
});
