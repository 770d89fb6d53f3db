import {
  Fragment,
  useId,
  useLayoutEffect,
  useRef,
  useState,
  type KeyboardEvent,
  type ReactNode,
} from "react";
import { Icon, type IconName } from "./icon.tsx";
import { Keys } from "./keys.tsx";
import { usePopoverBeside } from "./place-beside.ts";

export type MenuItem =
  | "line"
  | {
      readonly label: string;
      /** A line below it. */
      readonly about?: string | undefined;
      readonly icon?: IconName | undefined;
      readonly keys?: string | undefined;
      readonly danger?: boolean | undefined;
      readonly checked?: boolean | undefined;
      /** Several can be checked: one that is not has an empty box. */
      readonly box?: boolean | undefined;
      readonly disabled?: boolean | undefined;
      readonly run: () => void;
    };

interface MenuProps {
  label: string;
  /** What is offered, above it. */
  heading?: string | undefined;
  items: readonly MenuItem[];
  icon?: IconName | undefined;
  small?: boolean | undefined;
  /** In place of an icon alone. */
  children?: ReactNode;
  className?: string | undefined;
  disabled?: boolean | undefined;
}

/** A button and what it offers. Arrows, Home, End and first letters move; Escape and a press elsewhere close. */
export function Menu({
  label,
  heading,
  items,
  icon = "more",
  small,
  children,
  className,
  disabled,
}: MenuProps) {
  const [isOpen, setOpen] = useState(false);
  const id = useId();
  const button = useRef<HTMLButtonElement>(null);
  const usual = children === undefined ? "icon-button" : "button";
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className === undefined ? usual : `${usual} ${className}`}
        aria-label={children === undefined ? label : undefined}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        aria-controls={isOpen ? id : undefined}
        data-kind={children === undefined ? undefined : "ghost"}
        data-small={small || undefined}
        disabled={disabled}
        onClick={() => setOpen(!isOpen)}
      >
        {children ?? <Icon name={icon} />}
      </button>
      {isOpen && (
        <OpenMenu
          id={id}
          label={label}
          heading={heading}
          items={items}
          button={button}
          onClose={(back) => {
            setOpen(false);
            if (back) button.current?.focus();
          }}
        />
      )}
    </>
  );
}

interface OpenMenuProps {
  id: string;
  label: string;
  heading: string | undefined;
  items: readonly MenuItem[];
  button: { readonly current: HTMLButtonElement | null };
  onClose: (focusGoesBack: boolean) => void;
}

function OpenMenu({ id, label, heading, items, button, onClose }: OpenMenuProps) {
  const menu = useRef<HTMLDivElement>(null);
  usePopoverBeside(menu, button, () => onClose(false));
  useLayoutEffect(() => {
    if (menu.current !== null) entriesIn(menu.current)[0]?.focus();
  }, []);
  return (
    <div
      ref={menu}
      id={id}
      className="menu"
      role="menu"
      aria-label={heading ?? label}
      popover="manual"
      tabIndex={-1}
      onKeyDown={(event) => onKey(event, onClose)}
    >
      {heading !== undefined && (
        <p className="menu-heading" aria-hidden="true">
          {heading}
        </p>
      )}
      {items.map((item, at) =>
        item === "line" ? (
          <hr key={at} className="menu-line" />
        ) : (
          <Fragment key={item.label}>
            <button
              type="button"
              className="menu-item"
              role={item.checked === undefined ? "menuitem" : "menuitemcheckbox"}
              aria-checked={item.checked}
              aria-labelledby={item.about === undefined ? undefined : `${id}-${at}`}
              aria-describedby={item.about === undefined ? undefined : `${id}-${at}-about`}
              disabled={item.disabled}
              data-danger={item.danger || undefined}
              onClick={() => {
                onClose(true);
                item.run();
              }}
            >
              {item.checked === undefined ? (
                item.icon !== undefined && <Icon name={item.icon} />
              ) : (
                <span className="menu-check" data-box={item.box || undefined}>
                  {item.checked && <Icon name="check" />}
                </span>
              )}
              {item.about === undefined ? (
                <span>{item.label}</span>
              ) : (
                <span className="menu-words">
                  <span id={`${id}-${at}`}>{item.label}</span>
                  <small id={`${id}-${at}-about`}>{item.about}</small>
                </span>
              )}
              {item.keys !== undefined && <Keys keys={item.keys} />}
            </button>
          </Fragment>
        ),
      )}
    </div>
  );
}

function onKey(event: KeyboardEvent<HTMLDivElement>, onClose: (back: boolean) => void): void {
  const entries = entriesIn(event.currentTarget);
  const at = entries.indexOf(document.activeElement as HTMLButtonElement);
  const go = (to: number) => entries[(to + entries.length) % entries.length]?.focus();
  if (event.key === "ArrowDown") go(at + 1);
  else if (event.key === "ArrowUp") go(at - 1);
  else if (event.key === "Home") go(0);
  else if (event.key === "End") go(-1);
  else if (event.key === "Escape") onClose(true);
  else if (event.key === "Tab") return onClose(true);
  else if (event.key.length === 1 && event.key !== " ") {
    const letter = event.key.toLowerCase();
    const later = [...entries.slice(at + 1), ...entries.slice(0, at + 1)];
    later.find(({ textContent }) => textContent?.trim().toLowerCase().startsWith(letter))?.focus();
  } else return undefined;
  event.preventDefault();
  return event.stopPropagation();
}

function entriesIn(menu: HTMLElement): HTMLButtonElement[] {
  return [...menu.querySelectorAll<HTMLButtonElement>("button.menu-item:not(:disabled)")];
}
