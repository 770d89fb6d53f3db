import type { ComponentProps, KeyboardEvent } from "react";
import { formatHashRoute, type HashRoute } from "../browser/hash-router.ts";
import { useAppStore } from "../hooks/use-app-store.ts";

interface RouteLinkProps extends ComponentProps<"a"> {
  route: HashRoute;
  onSelect: (() => void) | undefined;
  /** Returns true if it handled the key. Arrow keys move to other rows by default. */
  onKey?: ((event: KeyboardEvent<HTMLElement>) => boolean) | undefined;
}

/** A row that links to a route. Navigates even to the current route, which scrolls back to its message. */
export function RouteLink({ route, onSelect, onKey, children, ...rest }: RouteLinkProps) {
  const { router } = useAppStore();
  return (
    <a
      {...rest}
      href={formatHashRoute(route)}
      data-row=""
      onClick={(event) => {
        const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
        // Other clicks open a new tab or window.
        if (button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return;
        event.preventDefault();
        router.navigate(route);
        onSelect?.();
      }}
      onKeyDown={(event) => {
        if (onKey?.(event) === true || moveRowFocus(event.currentTarget, event.key))
          event.preventDefault();
      }}
    >
      {children}
    </a>
  );
}

/*
 * All rows of the list (chats, search results, deleted chats) are links with `data-row`. Only rows near the viewport are in
 * the document. This includes the neighbors of the focused row, but not always the first and last row.
 */

/** `element` is any element of the list. */
export function focusFirstRow(element: Element): void {
  const [first] = findRows(element);
  first?.focus();
}

/** Moves the focus between rows. Returns true if it handled the key. */
function moveRowFocus(row: HTMLElement, key: string): boolean {
  const rows = findRows(row);
  const index = rows.indexOf(row);
  switch (key) {
    case "ArrowDown":
      rows[index + 1]?.focus();
      return true;
    case "ArrowUp":
      rows[index - 1]?.focus();
      return true;
    case "Home":
    case "End":
      focusFirstOrLastRow(row, key === "Home");
      return true;
    default:
      return false;
  }
}

/** Focuses the row below, else the row above, else the search field. Must be called before the row of `element` is removed. */
export function focusAdjacentRow(element: Element): void {
  const rows = findRows(element);
  const index = rows.findIndex((row) => row.parentElement?.contains(element) === true);
  const search = element.closest(".list")?.querySelector("input");
  (rows[index + 1] ?? rows[index - 1] ?? search)?.focus();
}

function focusFirstOrLastRow(row: HTMLElement, isFirst: boolean): void {
  const scroller = row.closest(".list-scroll");
  if (scroller === null) return;
  scroller.scrollTop = isFirst ? 0 : scroller.scrollHeight;
  // Rows that scroll into view are rendered in the frame after next.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const rows = [...scroller.querySelectorAll<HTMLElement>("[data-row]")];
      rows.at(isFirst ? 0 : -1)?.focus();
    }),
  );
}

function findRows(element: Element): HTMLElement[] {
  const list = element.closest(".list");
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>("[data-row]")];
}
