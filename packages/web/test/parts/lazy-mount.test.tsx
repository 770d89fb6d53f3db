import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { createLazyMountScope, LazyMountContext, LazyMount } from "../../src/parts/lazy-mount.tsx";

const scope = createLazyMountScope();

function drawn(given: { name?: string; isWanted?: boolean; isDrawnAtOnce?: boolean }): string {
  const { name = "lazy", isWanted = false, isDrawnAtOnce = false } = given;
  return renderToStaticMarkup(
    <LazyMountContext value={scope}>
      <LazyMount
        name={name}
        className="lazy"
        guess={() => 120}
        isWanted={isWanted}
        isDrawnAtOnce={isDrawnAtOnce}
      >
        {() => <p>furniture</p>}
      </LazyMount>
    </LazyMountContext>,
  );
}

test("it is empty and as high as is guessed until somebody is near", () => {
  expect(drawn({})).toBe('<div class="lazy" style="block-size:120px"></div>');
});

test("an empty one is as high as it is known to be, whatever is guessed", () => {
  scope.heights.set("known", 77.5);
  expect(drawn({ name: "known" })).toContain("block-size:77.5px");
});

test.each([{ isWanted: true }, { isDrawnAtOnce: true }])(
  "one that is wanted, or that is new at the end, is drawn wherever it is: %o",
  (given) => {
    expect(drawn(given)).toBe('<div class="lazy"><p>furniture</p></div>');
  },
);
