import type { ComponentProps, KeyboardEvent } from "react";
import { hashOf, type Route } from "../browser/route.ts";
import { usePage } from "../hooks/use-page.ts";

interface RouteLinkProps extends ComponentProps<"a"> {
  route: Route;
  onChosen: (() => void) | undefined;
  /** Whether it has taken the key; arrows move to other rows. */
  onKey?: ((event: KeyboardEvent<HTMLElement>) => boolean) | undefined;
}

/** A row. It goes there also if that is the address already: a place within a chat may be out of sight again. */
export function RouteLink({ route, onChosen, onKey, children, ...rest }: RouteLinkProps) {
  const { router } = usePage();
  return (
    <a
      {...rest}
      href={hashOf(route)}
      data-row=""
      onClick={(event) => {
        const { button, metaKey, ctrlKey, shiftKey, altKey } = event;
        // All others are for a new tab or a window.
        if (button !== 0 || metaKey || ctrlKey || shiftKey || altKey) return;
        event.preventDefault();
        router.go(route);
        onChosen?.();
      }}
      onKeyDown={(event) => {
        if (onKey?.(event) === true || moveFocus(event.currentTarget, event.key))
          event.preventDefault();
      }}
    >
      {children}
    </a>
  );
}

/*
 * Rows of chats, found ones and deleted ones are links with `data-row`. Only those near to what is seen are there, so the
 * next one is always found, and the first and the last once they were scrolled to.
 */

export function focusFirstRow(from: Element): void {
  const [first] = rowsAround(from);
  first?.focus();
}

/** Whether a key moves the focus among the rows. */
function moveFocus(from: HTMLElement, key: string): boolean {
  const rows = rowsAround(from);
  const at = rows.indexOf(from);
  switch (key) {
    case "ArrowDown":
      rows[at + 1]?.focus();
      return true;
    case "ArrowUp":
      rows[at - 1]?.focus();
      return true;
    case "Home":
    case "End":
      focusEnd(from, key === "Home");
      return true;
    default:
      return false;
  }
}

/** From a row or something in it to the row below, else the one above, else what rows are searched by: before this one goes. */
export function focusBeside(from: Element): void {
  const rows = rowsAround(from);
  const at = rows.findIndex((row) => row.parentElement?.contains(from) === true);
  const search = from.closest(".list")?.querySelector("input");
  (rows[at + 1] ?? rows[at - 1] ?? search)?.focus();
}

function focusEnd(from: HTMLElement, atStart: boolean): void {
  const scroll = from.closest(".list-scroll");
  if (scroll === null) return;
  scroll.scrollTop = atStart ? 0 : scroll.scrollHeight;
  // What comes into sight is drawn in the frame after next.
  requestAnimationFrame(() =>
    requestAnimationFrame(() => {
      const rows = [...scroll.querySelectorAll<HTMLElement>("[data-row]")];
      rows.at(atStart ? 0 : -1)?.focus();
    }),
  );
}

function rowsAround(from: Element): HTMLElement[] {
  const list = from.closest(".list");
  return list === null ? [] : [...list.querySelectorAll<HTMLElement>("[data-row]")];
}
