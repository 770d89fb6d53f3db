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
import { hasNoFocusedElement } from "../ui/focus.ts";
import { useMessages } from "../messages/use-messages.ts";
import { TreeCard } from "./tree-card.tsx";
import type { TreeLayout } from "./tree-layout.ts";
import {
  centerOn,
  getInitialViewport,
  fitViewport,
  resizeViewport,
  getVisibleArea,
  revealArea,
  intersects,
  usePanZoom,
  zoomViewport,
  type Viewport,
  type ViewSize,
} from "./viewport.ts";
import { toViewArea, buildCardPath, buildEdgePath, cardStyles } from "./chat-tree-layout.ts";
import type { ChatTree } from "./chat-tree.ts";
import { listReachableNodes, findLastItemOnPath, navigateFrom } from "./keyboard-navigation.ts";
import { treeMessages } from "./messages.ts";

/** Actions of the toolbar buttons. */
export interface TreeCanvasHandle {
  zoom(factor: number): void;
  fit(): void;
  centerOnNode(nodeId: string): void;
  focus(): void;
}

interface TreeCanvasProps {
  tree: ChatTree;
  layout: TreeLayout;
  selectedId: string | undefined;
  /** "A" or "B" by node id, for nodes that are selected for comparison. */
  sideLabels: ReadonlyMap<string, string>;
  onSelect: (nodeId: string) => void;
  onOpen: (nodeId: string) => void;
  onToggleCompared: (nodeId: string) => void;
  handle: Ref<TreeCanvasHandle>;
}

/** Below this scale, text is illegible and not rendered. */
const simplifiedScale = 0.38;
/** If more cards are visible, all are drawn as a few shapes, and only the cards around the focus as elements. */
const maxCards = 240;

export function TreeCanvas(props: TreeCanvasProps) {
  const { tree, layout, selectedId, sideLabels, onSelect, onOpen, onToggleCompared, handle } =
    props;
  const t = useMessages(treeMessages);
  const helpId = useId();
  const svg = useRef<SVGSVGElement>(null);
  const [size, setSize] = useState<ViewSize>();
  const [viewport, setViewport] = useState<Viewport>({ x: 0, y: 0, scale: 1 });
  const [activeId, setActiveId] = useState(() => selectedId ?? findLastItemOnPath(tree));
  const shouldFocus = useRef(false);
  // The first click may move the tree, so a double click refers to the node under the first press.
  const pressedNode = useRef<string>(undefined);
  const clickedNode = useRef<string>(undefined);
  const { wasDrag } = usePanZoom(svg, setViewport);
  const focusedId =
    activeId !== undefined && tree.has(activeId) ? activeId : findLastItemOnPath(tree);

  const latest = useRef({ layout, focusedId });
  useLayoutEffect(() => {
    latest.current = { layout, focusedId };
  });
  useLayoutEffect(() => {
    const element = svg.current;
    if (element === null) return undefined;
    let previousSize: ViewSize | undefined;
    const observer = new ResizeObserver(() => {
      const next = { width: element.clientWidth, height: element.clientHeight };
      if (next.width === 0 || next.height === 0) return;
      const { layout, focusedId } = latest.current;
      const position = focusedId === undefined ? undefined : layout.positions.get(focusedId);
      const area = position && toViewArea(position);
      const previous = previousSize;
      previousSize = next;
      setSize(next);
      setViewport((viewport) =>
        previous === undefined
          ? getInitialViewport(layout, next, area)
          : resizeViewport(viewport, previous, next, area),
      );
    });
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  // If the element that opened this view had the focus and was removed, the focus moves to a card.
  useLayoutEffect(() => {
    const { current } = latest;
    if (current.focusedId !== undefined && hasNoFocusedElement())
      findCard(svg.current, current.focusedId)?.focus({ preventScroll: true });
  }, []);
  useLayoutEffect(() => {
    if (!shouldFocus.current || focusedId === undefined) return;
    shouldFocus.current = false;
    findCard(svg.current, focusedId)?.focus({ preventScroll: true });
  }, [focusedId]);

  const reveal = (nodeId: string) => {
    const position = layout.positions.get(nodeId);
    if (position !== undefined && size !== undefined)
      setViewport((viewport) => revealArea(viewport, size, toViewArea(position)));
  };
  const center = { x: (size?.width ?? 0) / 2, y: (size?.height ?? 0) / 2 };
  useImperativeHandle(handle, () => ({
    zoom: (factor) => setViewport((viewport) => zoomViewport(viewport, factor, center)),
    fit: () => size !== undefined && setViewport(fitViewport(layout, size)),
    centerOnNode: (nodeId) => {
      const position = layout.positions.get(nodeId);
      if (position !== undefined && size !== undefined)
        setViewport(centerOn(toViewArea(position), size));
    },
    focus: () =>
      focusedId !== undefined && findCard(svg.current, focusedId)?.focus({ preventScroll: true }),
  }));

  const focusNode = (nodeId: string) => {
    shouldFocus.current = nodeId !== focusedId;
    setActiveId(nodeId);
    onSelect(nodeId);
    if (nodeId === focusedId) findCard(svg.current, nodeId)?.focus({ preventScroll: true });
  };
  const onKeyDown = (event: KeyboardEvent) => {
    if (focusedId === undefined || event.altKey || event.ctrlKey || event.metaKey) return;
    const next = navigateFrom(tree, layout, focusedId, event.key);
    if (event.key === "Enter") onOpen(focusedId);
    else if (event.key === " ") onToggleCompared(focusedId);
    else if (next !== undefined) {
      focusNode(next);
      reveal(next);
    } else if (!event.key.startsWith("Arrow")) return;
    event.preventDefault();
  };
  const findNodeUnder = (event: MouseEvent): string | undefined =>
    (event.target as Element).closest<SVGElement>("[data-node]")?.dataset["node"] ??
    findNodeAt(layout, viewport, svg.current, event);

  const isSimplified = viewport.scale < simplifiedScale;
  const visibleCards = useVisibleCards(tree, layout, size, viewport, focusedId);
  return (
    <>
      <p id={helpId} className="visually-hidden">
        {t.keysHelp}
      </p>
      <svg
        ref={svg}
        className="tree-canvas"
        role="tree"
        tabIndex={-1}
        aria-label={t.tree}
        aria-describedby={helpId}
        aria-multiselectable="false"
        direction="ltr"
        onKeyDown={onKeyDown}
        onPointerDown={(event) => {
          pressedNode.current = findNodeUnder(event);
        }}
        onClick={(event) => {
          if (event.detail > 1) return;
          // A click by a screen reader has no press before it (`detail` is 0).
          const hasPress = event.detail === 1;
          clickedNode.current = hasPress
            ? wasDrag()
              ? undefined
              : pressedNode.current
            : findNodeUnder(event);
          if (clickedNode.current !== undefined) focusNode(clickedNode.current);
        }}
        onDoubleClick={() => {
          if (clickedNode.current !== undefined) onOpen(clickedNode.current);
        }}
        onFocus={(event: FocusEvent<SVGElement>) => {
          const { target } = event;
          const node = target.matches(":focus-visible") ? target.dataset["node"] : undefined;
          if (node !== undefined) reveal(node);
        }}
      >
        <g transform={`translate(${viewport.x} ${viewport.y}) scale(${viewport.scale})`}>
          <TreeEdges tree={tree} layout={layout} />
          {visibleCards.isSimplified && <SimplifiedCards tree={tree} layout={layout} />}
          {visibleCards.ids.map((id) => {
            const [item, position] = [tree.get(id), layout.positions.get(id)];
            if (item === undefined || position === undefined) return null;
            return (
              <TreeCard
                key={id}
                item={item}
                position={position}
                isActive={id === focusedId}
                isSelected={id === selectedId}
                sideLabel={sideLabels.get(id)}
                isSimplified={isSimplified}
              />
            );
          })}
        </g>
      </svg>
      <p className="tree-hint" aria-hidden="true">
        {t.keysHint}
      </p>
    </>
  );
}

function findCard(svg: SVGSVGElement | null, nodeId: string): SVGElement | null {
  return svg?.querySelector<SVGElement>(`[data-node="${CSS.escape(nodeId)}"]`) ?? null;
}

/** Returns the cards to mount: the visible ones, unless there are too many, and those that the keyboard can reach. */
function useVisibleCards(
  tree: ChatTree,
  layout: TreeLayout,
  size: ViewSize | undefined,
  viewport: Viewport,
  focusedId: string | undefined,
): { readonly ids: readonly string[]; readonly isSimplified: boolean } {
  const visibleIds = useMemo(() => {
    if (size === undefined) return [];
    const area = getVisibleArea(viewport, size);
    return [...layout.positions.values()]
      .filter((position) => intersects(toViewArea(position), area))
      .map(({ id }) => id);
  }, [layout, size, viewport]);
  const reachableIds = useMemo(
    () =>
      focusedId === undefined
        ? []
        : [focusedId, ...listReachableNodes(tree, layout, focusedId)].slice(0, maxCards),
    [tree, layout, focusedId],
  );
  const isSimplified = visibleIds.length > maxCards;
  const mountedIds = new Set(isSimplified ? reachableIds : [...visibleIds, ...reachableIds]);
  // In tree order, so that screen readers read parents before children.
  return { ids: [...tree.keys()].filter((id) => mountedIds.has(id)), isSimplified };
}

function TreeEdges({ tree, layout }: Pick<TreeCanvasProps, "tree" | "layout">) {
  const [others, path] = useMemo(
    () => [buildEdgePath(tree, layout, false), buildEdgePath(tree, layout, true)],
    [tree, layout],
  );
  return (
    <g aria-hidden="true">
      <path className="tree-edge" d={others} />
      <path className="tree-edge" data-path d={path} />
    </g>
  );
}

function SimplifiedCards({ tree, layout }: Pick<TreeCanvasProps, "tree" | "layout">) {
  const shapes = useMemo(
    () => cardStyles.map((style) => ({ style, path: buildCardPath(tree, layout, style) })),
    [tree, layout],
  );
  return (
    <g aria-hidden="true">
      {shapes.map(({ style, path }) => (
        <path key={style} className="tree-simplified" data-style={style} d={path} />
      ))}
    </g>
  );
}

function findNodeAt(
  { positions }: TreeLayout,
  viewport: Viewport,
  svg: SVGSVGElement | null,
  { clientX, clientY }: MouseEvent,
): string | undefined {
  if (svg === null) return undefined;
  const { left, top } = svg.getBoundingClientRect();
  const point = {
    x: (clientX - left - viewport.x) / viewport.scale,
    y: (clientY - top - viewport.y) / viewport.scale,
    width: 0.01,
    height: 0.01,
  };
  return [...positions.values()].find((position) => intersects(toViewArea(position), point))?.id;
}
