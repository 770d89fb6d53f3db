import type { ComponentProps, KeyboardEvent } from "react";
import { usePage } from "../hooks/use-page.ts";
import { hashOf, type Route } from "../browser/route.ts";
import { moveFocus } from "./row-focus.ts";

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
