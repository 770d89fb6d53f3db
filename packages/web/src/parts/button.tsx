import type { ComponentProps } from "react";
import { Icon, type IconName } from "./icon.tsx";

interface ButtonProps extends ComponentProps<"button"> {
  kind?: "plain" | "primary" | "danger" | "ghost" | undefined;
  small?: boolean | undefined;
  icon?: IconName | undefined;
  /** What it does is under way: it cannot be pressed again. */
  busy?: boolean | undefined;
}

export function Button({
  kind = "plain",
  small,
  icon,
  busy = false,
  disabled = false,
  className,
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
      disabled={disabled || busy}
      aria-busy={busy || undefined}
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

interface IconButtonProps extends ComponentProps<"button"> {
  icon: IconName;
  /** Its name for screen readers, and its tooltip. */
  label: string;
  small?: boolean | undefined;
  pressed?: boolean | undefined;
}

export function IconButton({
  icon,
  label,
  small,
  pressed,
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
      data-small={small || undefined}
    >
      <Icon name={icon} />
      {children}
    </button>
  );
}
