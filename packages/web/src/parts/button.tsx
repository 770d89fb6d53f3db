import type { ComponentProps, MouseEvent } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "ghost" | undefined;
  small?: boolean | undefined;
  icon?: IconName | undefined;
  /** What it does is under way: it cannot be pressed again. */
  busy?: boolean | undefined;
  /** It cannot be pressed for a moment. Unlike one that is disabled it keeps the focus, as one that is busy does. */
  off?: boolean | undefined;
}

export function Button({
  kind = "plain",
  small,
  icon,
  busy = false,
  off = busy,
  className,
  onClick,
  children,
  ...rest
}: ButtonProps) {
  return (
    <button
      type="button"
      {...rest}
      className={className === undefined ? "button" : `button ${className}`}
      data-kind={kind}
      data-small={small || undefined}
      aria-disabled={off || undefined}
      aria-busy={busy || undefined}
      onClick={off ? ignorePress : onClick}
    >
      {busy ? (
        <span className="spinner" aria-hidden="true" />
      ) : (
        icon !== undefined && <Icon name={icon} small={small} />
      )}
      {children}
    </button>
  );
}

/** Else it would still send its form. */
function ignorePress(event: MouseEvent): void {
  event.preventDefault();
}

interface IconButtonProps extends ComponentProps<"button"> {
  icon: IconName;
  /** Its name for screen readers, and its tooltip. */
  label: string;
  small?: boolean | undefined;
  pressed?: boolean | undefined;
  /** What it does is under way. */
  busy?: boolean | undefined;
}

export function IconButton({
  icon,
  label,
  small,
  pressed,
  busy,
  className,
  children,
  ...rest
}: IconButtonProps) {
  return (
    <button
      type="button"
      title={label}
      {...rest}
      className={className === undefined ? "icon-button" : `icon-button ${className}`}
      aria-label={label}
      aria-pressed={pressed}
      aria-busy={busy || undefined}
      data-small={small || undefined}
    >
      {busy === true ? <span className="spinner" aria-hidden="true" /> : <Icon name={icon} />}
      {children}
    </button>
  );
}
