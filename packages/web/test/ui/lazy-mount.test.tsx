import { renderToStaticMarkup } from "react-dom/server";
import { expect, test } from "vitest";
import { createLazyMountScope, LazyMountContext, LazyMount } from "../../src/ui/lazy-mount.tsx";

const scope = createLazyMountScope();

function renderLazyMount(props: {
  name?: string;
  forceMount?: boolean;
  initiallyMounted?: boolean;
}): string {
  const { name = "lazy", forceMount = false, initiallyMounted = false } = props;
  return renderToStaticMarkup(
    <LazyMountContext value={scope}>
      <LazyMount
        cacheKey={name}
        className="lazy"
        estimateHeight={() => 120}
        forceMount={forceMount}
        initiallyMounted={initiallyMounted}
      >
        {() => <p>content</p>}
      </LazyMount>
    </LazyMountContext>,
  );
}

test("an unmounted element is empty and has its estimated height", () => {
  expect(renderLazyMount({})).toBe('<div class="lazy" style="block-size:120px"></div>');
});

test("an unmounted element has its last known height instead of the estimate", () => {
  scope.heights.set("known", 77.5);
  expect(renderLazyMount({ name: "known" })).toContain("block-size:77.5px");
});

test.each([{ forceMount: true }, { initiallyMounted: true }])(
  "a forced or newly appended element is mounted wherever it is: %o",
  (props) => {
    expect(renderLazyMount(props)).toBe('<div class="lazy"><p>content</p></div>');
  },
);
