import type { ComponentProps, MouseEvent } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "ghost" | undefined;
  small?: boolean | undefined;
  icon?: IconName | undefined;
  /** True while the action runs: shows a spinner and ignores presses. */
  busy?: boolean | undefined;
  /** Ignores presses, but unlike `disabled` keeps the focus. Default: `busy`. */
  softDisabled?: boolean | undefined;
}

export function Button({
  kind = "plain",
  small,
  icon,
  busy = false,
  softDisabled = busy,
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
      aria-disabled={softDisabled || undefined}
      aria-busy={busy || undefined}
      onClick={softDisabled ? preventPress : onClick}
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

/** Prevents a submit button from submitting its form. */
function preventPress(event: MouseEvent): void {
  event.preventDefault();
}

interface IconButtonProps extends ComponentProps<"button"> {
  icon: IconName;
  /** Accessible name and tooltip. */
  label: string;
  small?: boolean | undefined;
  pressed?: boolean | undefined;
  /** True while the action runs: shows a spinner. */
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
