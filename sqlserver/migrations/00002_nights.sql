-- +goose Up
-- The second strategy for ranges, for resources that are taken by whole days:
-- one row a night, and the unique index alone says that it is taken.
-- +goose StatementBegin
CREATE TABLE nights (
    id          BIGINT IDENTITY(1,1) NOT NULL CONSTRAINT nights_pkey PRIMARY KEY CLUSTERED,
    resource_id BIGINT NOT NULL CONSTRAINT nights_resource REFERENCES resources (id),
    night       DATE NOT NULL,
    booking_id  BIGINT NULL CONSTRAINT nights_booking REFERENCES bookings (id) ON DELETE CASCADE,
    is_active   BIT NOT NULL CONSTRAINT nights_active DEFAULT 1
);
-- +goose StatementEnd
-- +goose StatementBegin
CREATE UNIQUE INDEX nights_once ON nights (resource_id, night) WHERE is_active = 1;
-- +goose StatementEnd
-- +goose StatementBegin
CREATE INDEX nights_booking_id ON nights (booking_id);
-- +goose StatementEnd

-- +goose Down
-- +goose StatementBegin
DROP TABLE nights;
-- +goose StatementEnd
