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
import { ShortcutKeys } from "./keyboard-shortcut.tsx";
import { useAnchoredPopover } from "./anchored-popover.ts";

export type MenuItem =
  | "separator"
  | {
      readonly label: string;
      /** A second line below the label. */
      readonly description?: string | undefined;
      readonly icon?: IconName | undefined;
      readonly keys?: string | undefined;
      readonly danger?: boolean | undefined;
      readonly checked?: boolean | undefined;
      /** True if the unchecked item shows an empty box, for menus in which several items can be checked. */
      readonly hasCheckbox?: boolean | undefined;
      readonly disabled?: boolean | undefined;
      readonly run: () => void;
    };

interface MenuProps {
  label: string;
  /** Heading above the items. Also the accessible name of the menu; default `label`. */
  heading?: string | undefined;
  items: readonly MenuItem[];
  icon?: IconName | undefined;
  small?: boolean | undefined;
  /** Content of the button, in place of the icon. */
  children?: ReactNode;
  className?: string | undefined;
  disabled?: boolean | undefined;
}

/** A button with a menu. Arrow keys, Home, End and first letters move the focus; Escape, Tab and a press elsewhere close it. */
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
  const baseClass = children === undefined ? "icon-button" : "button";
  return (
    <>
      <button
        ref={button}
        type="button"
        className={className === undefined ? baseClass : `${baseClass} ${className}`}
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
        <MenuPopover
          id={id}
          label={label}
          heading={heading}
          items={items}
          button={button}
          onClose={(restoresFocus) => {
            setOpen(false);
            if (restoresFocus) button.current?.focus();
          }}
        />
      )}
    </>
  );
}

interface MenuPopoverProps {
  id: string;
  label: string;
  heading: string | undefined;
  items: readonly MenuItem[];
  button: { readonly current: HTMLButtonElement | null };
  onClose: (restoresFocus: boolean) => void;
}

function MenuPopover({ id, label, heading, items, button, onClose }: MenuPopoverProps) {
  const menu = useRef<HTMLDivElement>(null);
  useAnchoredPopover(menu, button, () => onClose(false));
  useLayoutEffect(() => {
    if (menu.current !== null) findMenuItems(menu.current)[0]?.focus();
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
      onKeyDown={(event) => handleMenuKey(event, onClose)}
    >
      {heading !== undefined && (
        <p className="menu-heading" aria-hidden="true">
          {heading}
        </p>
      )}
      {items.map((item, index) =>
        item === "separator" ? (
          <hr key={index} className="menu-separator" />
        ) : (
          <Fragment key={item.label}>
            <button
              type="button"
              className="menu-item"
              role={item.checked === undefined ? "menuitem" : "menuitemcheckbox"}
              aria-checked={item.checked}
              aria-labelledby={item.description === undefined ? undefined : `${id}-${index}`}
              aria-describedby={item.description === undefined ? undefined : `${id}-${index}-about`}
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
                <span className="menu-check" data-checkbox={item.hasCheckbox || undefined}>
                  {item.checked && <Icon name="check" />}
                </span>
              )}
              {item.description === undefined ? (
                <span>{item.label}</span>
              ) : (
                <span className="menu-text">
                  <span id={`${id}-${index}`}>{item.label}</span>
                  <small id={`${id}-${index}-about`}>{item.description}</small>
                </span>
              )}
              {item.keys !== undefined && <ShortcutKeys keys={item.keys} />}
            </button>
          </Fragment>
        ),
      )}
    </div>
  );
}

function handleMenuKey(
  event: KeyboardEvent<HTMLDivElement>,
  onClose: (restoresFocus: boolean) => void,
): void {
  const entries = findMenuItems(event.currentTarget);
  const activeIndex = entries.indexOf(document.activeElement as HTMLButtonElement);
  const focusItem = (index: number) => entries[(index + entries.length) % entries.length]?.focus();
  if (event.key === "ArrowDown") focusItem(activeIndex + 1);
  else if (event.key === "ArrowUp") focusItem(activeIndex - 1);
  else if (event.key === "Home") focusItem(0);
  else if (event.key === "End") focusItem(-1);
  else if (event.key === "Escape") onClose(true);
  else if (event.key === "Tab") return onClose(true);
  else if (event.key.length === 1 && event.key !== " ") {
    const letter = event.key.toLowerCase();
    const candidates = [...entries.slice(activeIndex + 1), ...entries.slice(0, activeIndex + 1)];
    candidates
      .find(({ textContent }) => textContent?.trim().toLowerCase().startsWith(letter))
      ?.focus();
  } else return undefined;
  event.preventDefault();
  return event.stopPropagation();
}

function findMenuItems(menu: HTMLElement): HTMLButtonElement[] {
  return [...menu.querySelectorAll<HTMLButtonElement>("button.menu-item:not(:disabled)")];
}
