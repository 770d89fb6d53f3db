import {
  useId,
  useImperativeHandle,
  useLayoutEffect,
  useMemo,
  useRef,
  useState,
  type FocusEvent,
  type KeyboardEvent,
  type MouseEvent,
  type Ref,
} from "react";
import { nobodyHasFocus } from "../parts/focus.ts";
import { useWords } from "../words/use-words.ts";
import { Card } from "./card.tsx";
import type { Layout } from "./layout.ts";
import {
  closeTo,
  firstSight,
  fitted,
  resized,
  seenArea,
  showing,
  touches,
  useGestures,
  zoomed,
  type Sight,
  type Size,
} from "./sight.ts";
import { areaOf, cardsIn, edgesIn, looks } from "./sizes.ts";
import type { Tree } from "./tree-of.ts";
import { aroundOf, lastOnPath, stepFrom } from "./walk.ts";
import { treeWords } from "./words.ts";

/** What the buttons around it ask of the picture. */
export interface PictureHandle {
  zoom(factor: number): void;
  fit(): void;
  goTo(nodeId: string): void;
  focus(): void;
}

interface PictureProps {
  tree: Tree;
  layout: Layout;
  selected: string | undefined;
  /** By node: the letters of those that are chosen for comparison. */
  letters: ReadonlyMap<string, string>;
  onSelect: (nodeId: string) => void;
  onOpen: (nodeId: string) => void;
  onChoose: (nodeId: string) => void;
  handle: Ref<PictureHandle>;
}

/** Below this nothing can be read. */
const farScale = 0.38;
/** More cards than these are drawn as a few shapes, and only those around the focus as themselves. */
const mostCards = 240;

export function Picture(props: PictureProps) {
  const { tree, layout, selected, letters, onSelect, onOpen, onChoose, handle } = props;
  const words = useWords(treeWords);
  const helpId = useId();
  const svg = useRef<SVGSVGElement>(null);
  const [size, setSize] = useState<Size>();
  const [sight, setSight] = useState<Sight>({ x: 0, y: 0, scale: 1 });
  const [active, setActive] = useState(() => selected ?? lastOnPath(tree));
  const wantsFocus = useRef(false);
  // The picture may move below a pointer: what was meant is what was there when it was pressed first.
  const pressed = useRef<string>(undefined);
  const taken = useRef<string>(undefined);
  const { wasDrag } = useGestures(svg, setSight);
  const focused = active !== undefined && tree.has(active) ? active : lastOnPath(tree);

  const latest = useRef({ layout, focused });
  useLayoutEffect(() => {
    latest.current = { layout, focused };
  });
  useLayoutEffect(() => {
    const element = svg.current;
    if (element === null) return undefined;
    let before: Size | undefined;
    const observer = new ResizeObserver(() => {
      const next = { width: element.clientWidth, height: element.clientHeight };
      if (next.width === 0 || next.height === 0) return;
      const now = latest.current;
      const place = now.focused === undefined ? undefined : now.layout.places.get(now.focused);
      const area = place && areaOf(place);
      const last = before;
      before = next;
      setSize(next);
      setSight((sight) =>
        last === undefined ? firstSight(now.layout, next, area) : resized(sight, last, next, area),
      );
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // Whoever came by a key from what is no longer there goes on by keys.
  useLayoutEffect(() => {
    const { current } = latest;
    if (current.focused !== undefined && nobodyHasFocus())
      cardOf(svg.current, current.focused)?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    if (!wantsFocus.current || focused === undefined) return;
    wantsFocus.current = false;
    cardOf(svg.current, focused)?.focus({ preventScroll: true });
  }, [focused]);

  const show = (nodeId: string) => {
    const place = layout.places.get(nodeId);
    if (place !== undefined && size !== undefined)
      setSight((now) => showing(now, size, areaOf(place)));
  };
  const middle = { x: (size?.width ?? 0) / 2, y: (size?.height ?? 0) / 2 };
  useImperativeHandle(handle, () => ({
    zoom: (factor) => setSight((now) => zoomed(now, factor, middle)),
    fit: () => size !== undefined && setSight(fitted(layout, size)),
    goTo: (nodeId) => {
      const place = layout.places.get(nodeId);
      if (place !== undefined && size !== undefined) setSight(closeTo(areaOf(place), size));
    },
    focus: () =>
      focused !== undefined && cardOf(svg.current, focused)?.focus({ preventScroll: true }),
  }));

  const take = (nodeId: string) => {
    wantsFocus.current = nodeId !== focused;
    setActive(nodeId);
    onSelect(nodeId);
    if (nodeId === focused) cardOf(svg.current, nodeId)?.focus({ preventScroll: true });
  };
  const onKey = (event: KeyboardEvent) => {
    if (focused === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = stepFrom(tree, layout, focused, event.key);
    if (event.key === "Enter") onOpen(focused);
    else if (event.key === " ") onChoose(focused);
    else if (next !== undefined) {
      take(next);
      show(next);
    } else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  };
  const nodeUnder = (event: MouseEvent): string | undefined =>
    (event.target as Element).closest<SVGElement>("[data-node]")?.dataset["node"] ??
    nodeAt(layout, sight, svg.current, event);

  const isFar = sight.scale < farScale;
  const drawn = useDrawn(tree, layout, size, sight, focused);
  return (
    <>
      <p id={helpId} className="for-readers">
        {words.keysHelp}
      </p>
      <svg
        ref={svg}
        className="tree-picture"
        role="tree"
        tabIndex={-1}
        aria-label={words.tree}
        aria-describedby={helpId}
        aria-multiselectable="false"
        direction="ltr"
        onKeyDown={onKey}
        onPointerDown={(event) => {
          pressed.current = nodeUnder(event);
        }}
        onClick={(event) => {
          if (event.detail > 1) return;
          // Without a press it comes from a screen reader.
          const isPress = event.detail === 1;
          taken.current = isPress ? (wasDrag() ? undefined : pressed.current) : nodeUnder(event);
          if (taken.current !== undefined) take(taken.current);
        }}
        onDoubleClick={() => {
          if (taken.current !== undefined) onOpen(taken.current);
        }}
        onFocus={(event: FocusEvent<SVGElement>) => {
          const { target } = event;
          const node = target.matches(":focus-visible") ? target.dataset["node"] : undefined;
          if (node !== undefined) show(node);
        }}
      >
        <g transform={`translate(${sight.x} ${sight.y}) scale(${sight.scale})`}>
          <Edges tree={tree} layout={layout} />
          {drawn.asShapes && <Shapes tree={tree} layout={layout} />}
          {drawn.ids.map((id) => {
            const [item, place] = [tree.get(id), layout.places.get(id)];
            if (item === undefined || place === undefined) return null;
            return (
              <Card
                key={id}
                item={item}
                place={place}
                isActive={id === focused}
                isSelected={id === selected}
                letter={letters.get(id)}
                isFar={isFar}
              />
            );
          })}
        </g>
      </svg>
      <p className="tree-hint" aria-hidden="true">
        {words.keysHint}
      </p>
    </>
  );
}

function cardOf(svg: SVGSVGElement | null, nodeId: string): SVGElement | null {
  return svg?.querySelector<SVGElement>(`[data-node="${CSS.escape(nodeId)}"]`) ?? null;
}

/** Those in sight, and those that the keyboard can go to from where it is. */
function useDrawn(
  tree: Tree,
  layout: Layout,
  size: Size | undefined,
  sight: Sight,
  focused: string | undefined,
): { readonly ids: readonly string[]; readonly asShapes: boolean } {
  const seen = useMemo(() => {
    if (size === undefined) return [];
    const area = seenArea(sight, size);
    return [...layout.places.values()]
      .filter((place) => touches(areaOf(place), area))
      .map(({ id }) => id);
  }, [layout, size, sight]);
  const around = useMemo(
    () =>
      focused === undefined
        ? []
        : [focused, ...aroundOf(tree, layout, focused)].slice(0, mostCards),
    [tree, layout, focused],
  );
  const asShapes = seen.length > mostCards;
  const wanted = new Set(asShapes ? around : [...seen, ...around]);
  // In the order of the tree, so that a screen reader comes from parents to children.
  return { ids: [...tree.keys()].filter((id) => wanted.has(id)), asShapes };
}

function Edges({ tree, layout }: Pick<PictureProps, "tree" | "layout">) {
  const [others, path] = useMemo(
    () => [edgesIn(tree, layout, false), edgesIn(tree, layout, true)],
    [tree, layout],
  );
  return (
    <g aria-hidden="true">
      <path className="tree-edge" d={others} />
      <path className="tree-edge" data-path d={path} />
    </g>
  );
}

function Shapes({ tree, layout }: Pick<PictureProps, "tree" | "layout">) {
  const shapes = useMemo(
    () => looks.map((look) => ({ look, shape: cardsIn(tree, layout, look) })),
    [tree, layout],
  );
  return (
    <g aria-hidden="true">
      {shapes.map(({ look, shape }) => (
        <path key={look} className="tree-far" data-look={look} d={shape} />
      ))}
    </g>
  );
}

function nodeAt(
  { places }: Layout,
  sight: Sight,
  svg: SVGSVGElement | null,
  { clientX, clientY }: MouseEvent,
): string | undefined {
  if (svg === null) return undefined;
  const { left, top } = svg.getBoundingClientRect();
  const point = {
    x: (clientX - left - sight.x) / sight.scale,
    y: (clientY - top - sight.y) / sight.scale,
    width: 0.01,
    height: 0.01,
  };
  return [...places.values()].find((place) => touches(areaOf(place), point))?.id;
}
